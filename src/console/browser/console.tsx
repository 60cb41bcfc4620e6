/**
 * The console: a single-page application for operators over the /v1 API of the service that serves it. It holds no secret: the session
 * is in an HttpOnly cookie.
 *
 * data/ fetches from the service, caches the answers, and asks every two seconds what changed. parts/ has the shared components.
 * Each resource has a folder with its pages; shell/pages.tsx lists them, and shell/ has the navigation around every page. styles/ has
 * the style sheets, tokens.css the colours, sizes and distances.
 */
import { render } from "preact";

import "./console.css";
import { showInvisibleCharacters } from "./parts/show-invisible-characters.ts";
import { Application } from "./shell/application.tsx";

showInvisibleCharacters();
const root = document.getElementById("console");
if (root !== null) render(<Application />, root);
