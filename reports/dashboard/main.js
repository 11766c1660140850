// The dashboard: one page, its sections chosen by the URL's fragment, one resource or container in a drawer beside them.

import { forgetCharts } from "./charts.js";
import { containerPage, coverage } from "./coverage.js";
import { count, h } from "./dom.js";
import { consistency, declined, twins, unknown } from "./findings.js";
import { read } from "./model.js";
import { overview } from "./overview.js";
import { resourcePage, resources } from "./resources.js";
import { here, link, update } from "./route.js";
import { loadPage } from "./source.js";
import "./style.css"; // after the styles of libraries, which it overrides

const SECTIONS = [
    { id: "overview", title: "Overview", make: overview },
    { id: "coverage", title: "Coverage", make: coverage, count: (data) => data.containers.length },
    { id: "declined", title: "Declined", make: declined, count: (data) => data.resources.filter((r) => r.status === "declined").length },
    { id: "consistency", title: "Consistency", make: consistency, count: (data) => (data.byKind.get("inconsistent") ?? []).length },
    { id: "twins", title: "Twins", make: twins, count: (data) => data.resources.filter((r) => r.canonical && r.canonical.twin > r.index).length },
    { id: "unknown", title: "Unknown", make: unknown, count: (data) => data.unknown.reduce((sum, row) => sum + row.count, 0) },
    { id: "resources", title: "Resources", make: resources, count: (data) => data.resources.length },
];

/* ---- colours -------------------------------------------------------------------------------------------- */

const THEMES = ["auto", "light", "dark"];
const kept = (() => {
    // Browsers may refuse storage to a page from disk; then the choice lasts as long as the page.
    try {
        return window.localStorage;
    } catch {
        return null;
    }
})();

function setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    try {
        kept?.setItem("anchorage-theme", theme);
    } catch {
        /* see above */
    }
    dispatchEvent(new Event("themechange"));
}

function themeButton() {
    const label = () => `Colours: ${document.documentElement.dataset.theme}`;
    const button = h("button.theme", { type: "button", title: "Light, dark, or as the system" }, label());
    button.addEventListener("click", () => {
        const now = THEMES.indexOf(document.documentElement.dataset.theme);
        setTheme(THEMES[(now + 1) % THEMES.length]);
        button.textContent = label();
    });
    return button;
}

/* ---- frame ---------------------------------------------------------------------------------------------- */

function frame(data) {
    const nav = h("nav", { "aria-label": "sections" }, SECTIONS.map((section) => h("a", { href: link(section.id), "data-section": section.id }, section.title, section.count && h("b", null, count(section.count(data))))));
    const main = h("main", { id: "main", tabIndex: -1 });
    const drawer = h("dialog.drawer", { "aria-label": "details" });
    drawer.addEventListener("close", () => update({ address: "", container: here().section === "coverage" ? "" : here().params.get("container") }));
    drawer.addEventListener("click", (event) => event.target === drawer && drawer.close());
    const element = h(
        "div.frame",
        null,
        h("a.skip", { href: "#main", onclick: (event) => (event.preventDefault(), main.focus()) }, "Skip to the figures"),
        h("aside.side", null,
            h("a.brand", { href: link("overview") }, h("span.mark", { "aria-hidden": "true" }), h("span", null, "Anchorage")),
            h("p.store", { title: data.store }, data.store.split("/").at(-1)),
            nav,
            h("footer", null, themeButton(), h("span.muted", null, `anchorage ${data.program}`))),
        main,
        drawer,
    );
    return { element, nav, main, drawer };
}

/* What the drawer is to show, if anything. */
function subject(data, section, params) {
    const address = params.get("address");
    if (address) return { key: `r ${address}`, resource: data.byAddress.get(address), address };
    const path = section === "coverage" && params.get("container");
    return path ? { key: `c ${path}`, container: data.byPath.get(path), address: path } : null;
}

function start(data) {
    const { element, nav, main, drawer } = frame(data);
    document.getElementById("app").replaceChildren(element);
    document.title = `${data.store.split("/").at(-1)} – Anchorage`;
    let shown = "";
    let open = null;
    let closers = [];
    let drawerClosers = [];

    const build = (section, params, own) => {
        const filters = [...params].filter(([name]) => name !== "address" && !(name === "container" && section.id === "coverage"));
        const key = `${section.id}?${new URLSearchParams(filters)}`;
        if (key === shown) return;
        if (own) {
            shown = key;
            return;
        }
        const again = shown.split("?")[0] === section.id;
        const focus = again ? document.activeElement?.closest("input[type=search]") : null;
        shown = key;
        for (const closer of closers) closer.close();
        closers = [];
        forgetCharts();
        main.replaceChildren(section.make(data, params, closers));
        if (!again) scrollTo(0, 0);
        if (focus) {
            const input = main.querySelector("input[type=search]");
            input?.focus();
            input?.setSelectionRange(input.value.length, input.value.length);
        }
    };
    const show = (section, params) => {
        const wanted = subject(data, section.id, params);
        if ((wanted?.key ?? null) === open) return;
        open = wanted?.key ?? null;
        for (const closer of drawerClosers) closer.close();
        drawerClosers = [];
        if (!wanted) {
            drawer.close();
            return;
        }
        const content = wanted.resource
            ? resourcePage(data, wanted.resource)
            : wanted.container
              ? containerPage(data, wanted.container, drawerClosers)
              : h("p.empty", null, `There is no ${wanted.address} in this report.`);
        drawer.replaceChildren(h("button.close", { type: "button", "aria-label": "Close", onclick: () => drawer.close() }, "✕"), content);
        if (!drawer.open) drawer.showModal();
        drawer.scrollTop = 0;
    };
    const go = (own) => {
        const { section: id, params } = here();
        const section = SECTIONS.find((s) => s.id === id) ?? SECTIONS[0];
        for (const anchor of nav.children) {
            if (anchor.dataset.section === section.id) {
                anchor.setAttribute("aria-current", "page");
                anchor.scrollIntoView?.({ block: "nearest", inline: "center" });
            } else {
                anchor.removeAttribute("aria-current");
            }
        }
        build(section, params, own);
        show(section, params);
    };
    addEventListener("hashchange", () => go(false));
    addEventListener("viewchange", (event) => go(event.detail.own));
    // "/" goes to the search, as in many places.
    addEventListener("keydown", (event) => {
        if (event.key !== "/" || event.target.closest("input, select, textarea") || drawer.open) return;
        const input = main.querySelector("input[type=search]");
        if (input) {
            event.preventDefault();
            input.focus();
        }
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("themechange")));
    go(false);
    document.documentElement.dataset.ready = "yes";
}

let theme = "auto";
try {
    theme = kept?.getItem("anchorage-theme") ?? "auto";
} catch {
    /* as above */
}
document.documentElement.dataset.theme = THEMES.includes(theme) ? theme : "auto";

loadPage()
    .then((page) => start(read(page)))
    .catch((error) => {
        document.getElementById("app").replaceChildren(h("div.failed", null, h("h1", null, "The report cannot be shown"), h("p", null, error.message)));
        document.documentElement.dataset.ready = "failed";
        throw error;
    });
