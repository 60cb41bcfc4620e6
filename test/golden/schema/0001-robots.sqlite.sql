-- A store as the first version wrote it.
create table "kysely_migration" (name varchar(255) not null primary key, timestamp varchar(255) not null);
create table "organizations" ("id" text not null primary key, "name" text not null, "created_at" text not null);
create table "api_keys" ("id" text not null primary key, "organization_id" text not null references "organizations" ("id"), "label" text not null, "key_sha256" text not null unique, "key_prefix" text not null, "key_last4" text not null, "scopes" text, "created_at" text not null, "last_used_at" text, "expires_at" text, "revoked_at" text);
create index "api_keys_by_organization" on "api_keys" ("organization_id", "id");
create table "robots" ("id" text not null primary key, "organization_id" text not null references "organizations" ("id"), "name" text not null, "robot_type_id" text not null, "region" text not null, "configuration_digest" text not null, "site" text, "labels" text not null, "contract" text, "created_at" text not null, "updated_at" text not null, constraint "robots_by_name" unique ("organization_id", "name"));
create index "robots_by_organization" on "robots" ("organization_id", "id");
insert into kysely_migration values ('0001-robots', '2026-01-02T03:04:05.678Z');
insert into organizations values ('org_01jgjx', 'default', '2026-01-02T03:04:05.678Z');
insert into api_keys values
  ('key_01jgjx', 'org_01jgjx', 'bootstrap', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'sk_robot_', 'aB3d', null, '2026-01-02T03:04:05.678Z', null, null, null),
  ('key_01jgjy', 'org_01jgjx', 'arm "7" ü', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', 'sk_robot_', '0000', '["robots:setup"]', '2026-01-02T03:04:06.000Z', '2026-01-03T00:00:00.000Z', '2027-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z');
insert into robots values
  ('rob_01jgjx', 'org_01jgjx', 'arm-1', 'so101_follower', 'eu-west', 'sha256:0000000000000000000000000000000000000000000000000000000000000000', null, '{}', null, '2026-01-02T03:04:07.000Z', '2026-01-02T03:04:07.000Z'),
  ('rob_01jgjy', 'org_01jgjx', 'Arm ''2'' 🤖', 'custom/"arm"', 'us-east', 'sha256:ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff', 'lab', '{"line":"a\u0000b","":"é"}', '{"state_axes":[{"name":"j1","unit":"rad"}],"x":1e400}', '2026-01-02T03:04:08.000Z', '2026-01-04T00:00:00.000Z');
