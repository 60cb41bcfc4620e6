/** The columns of the store, as both databases hold them. Times are ISO 8601 in UTC with milliseconds, so that text sorts as time. */
export interface Tables {
  organizations: {
    id: string;
    name: string;
    created_at: string;
  };
  api_keys: {
    id: string;
    organization_id: string;
    label: string;
    /** Lowercase hex SHA-256 of the whole key; the key itself is nowhere. */
    key_sha256: string;
    key_prefix: string;
    key_last4: string;
    /** JSON array of scopes, or null for a key that may do everything. */
    scopes: string | null;
    created_at: string;
    last_used_at: string | null;
    expires_at: string | null;
    revoked_at: string | null;
  };
  robots: {
    id: string;
    organization_id: string;
    name: string;
    robot_type_id: string;
    region: string;
    configuration_digest: string;
    site: string | null;
    /** JSON object of text to text. */
    labels: string;
    /** JSON object, or null where the robot's type is in the catalog. */
    contract: string | null;
    created_at: string;
    updated_at: string;
  };
}
