/**
 * The console: what an operator sees in a browser. It is one page over the /v1 API of the service that served it, and holds no
 * secret: a cookie that scripts cannot read says who asks.
 *
 * data/ asks the service and keeps what it said, live by server-sent events. parts/ are the pieces that pages are made of. Each
 * resource has a folder with its pages; shell/pages.tsx is the table of them, and shell/ what stands around every page. styles/ says
 * how all of it looks, tokens.css with which colours, sizes and distances.
 */
import { render } from "preact";

import "./console.css";
import { drawVisibly } from "./parts/draw-visibly.ts";
import { Application } from "./shell/application.tsx";
import { startTheme } from "./shell/theme.ts";

drawVisibly();
startTheme();
const root = document.getElementById("console");
if (root !== null) render(<Application />, root);
