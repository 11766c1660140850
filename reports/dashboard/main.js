import "./style.css";
import { loadPage } from "./source.js";

const app = document.getElementById("app");
loadPage().then(
    (page) => {
        const heading = document.createElement("h1");
        heading.textContent = `${page.store}: ${page.resources.rows.length} resources`;
        app.replaceChildren(heading);
    },
    (error) => {
        app.textContent = `The report cannot be shown: ${error.message}`;
    },
);
