import type { FastifyInstance } from "fastify";

import { isObject } from "../../platform/is-object.ts";
import {
  answerValue,
  clientAddress,
  findLogin,
  isOver,
  type MountContext,
  refuse,
  route,
  SESSION_LIFETIME_MS,
  userCode,
} from "../../service/console-door.ts";
import type { WaitingLogin } from "../waiting-login.ts";
import { LOGIN_PATH } from "./console-paths.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * `GET /console/logins/{exchange_id}`: the login to approve, for any signed-in person. `POST /v1/cli/login/decide` checks whether they
 * may approve it.
 */
export function mountLogins(app: FastifyInstance, context: MountContext): void {
  const { store, machine } = context;
  route(app, context, { method: "GET", path: LOGIN_PATH, scopes: "any" }, async (request) => {
    const { params } = request;
    const id = isObject(params) ? String(params["exchange_id"] ?? "") : "";
    const login = await findLogin(store.reader, id);
    if (login === undefined) return refuse("NotFound", "There is no such login, or it is over; start it again");
    const { state, client_address: startedFrom } = login;
    const isExpired = isOver(login, machine.clock.wallMs()) && (state === "pending" || state === "approved");
    const waiting: WaitingLogin = {
      state: isExpired ? "expired" : state,
      user_code: userCode(id),
      callback_url: login.callback_url,
      client_address: startedFrom,
      client_program: login.client_program,
      is_own_address: startedFrom === clientAddress(request),
      session_days: SESSION_LIFETIME_MS / DAY_MS,
      created_at: login.created_at,
      expires_at: login.expires_at,
    };
    return answerValue({ exchange_id: id, ...waiting });
  });
}
