/** Answer of `GET /console/logins/{exchange_id}`: who asks to sign in. */
export interface WaitingLogin {
  readonly state: string;
  /** The terminal shows it too. */
  readonly user_code: string;
  readonly callback_url: string;
  readonly client_address: string;
  readonly client_program: string | null;
  /** Whether the service sees this browser at the same address. */
  readonly is_own_address: boolean;
  readonly session_days: number;
  readonly created_at: string;
  readonly expires_at: string;
}
