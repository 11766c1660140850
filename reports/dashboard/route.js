// Where the reader is, in the URL's fragment: #section?key=value. So each view can be linked to, and Back works.

/** { section, params } of the current fragment. */
export function here() {
    const [section, query = ""] = location.hash.slice(1).split("?");
    return { section: section || "overview", params: new URLSearchParams(query) };
}

/** The fragment of a view; empty values are left out. */
export function link(section, params = {}) {
    const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value)).toString();
    return `#${section}${query ? `?${query}` : ""}`;
}

/**
 * Changes parameters of the current view. `push`: the reader's Back undoes it. `own`: the section shows the change
 * already and need not be built again.
 */
export function update(changes, { push = false, own = false } = {}) {
    const { section, params } = here();
    for (const [key, value] of Object.entries(changes)) {
        if (value) params.set(key, value);
        else params.delete(key);
    }
    const target = link(section, Object.fromEntries(params));
    if (target === location.hash) return;
    if (push) history.pushState(null, "", target);
    else history.replaceState(null, "", target);
    dispatchEvent(new CustomEvent("viewchange", { detail: { own } }));
}
