CREATE TABLE api_keys (
  id text PRIMARY KEY,
  org_id text NOT NULL,
  hash text NOT NULL UNIQUE,
  name text NOT NULL,
  prefix text NOT NULL,
  scopes text NOT NULL,
  models text,
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint,
  last_used_at bigint, limits text NOT NULL DEFAULT '{}', disabled_at bigint, max_priority integer NOT NULL DEFAULT 9, budget bigint, budget_period text, budget_hard integer NOT NULL DEFAULT 1, used_up_at bigint, family text, replaced_by text, service_tier text);

CREATE INDEX api_keys_by_family ON api_keys (family) WHERE family IS NOT NULL;

CREATE INDEX api_keys_by_org ON api_keys (org_id, id);

CREATE INDEX api_keys_with_budget ON api_keys (id) WHERE budget IS NOT NULL;

CREATE TABLE audit_head (id integer PRIMARY KEY, sequence bigint NOT NULL, hash text NOT NULL);

CREATE TABLE audit_log (
  sequence bigint PRIMARY KEY,
  at bigint NOT NULL,
  actor text,
  actor_name text NOT NULL,
  action text NOT NULL,
  target text NOT NULL,
  old_value text,
  new_value text,
  address text,
  request_id text,
  previous_hash text NOT NULL,
  hash text NOT NULL);

CREATE INDEX audit_log_by_action ON audit_log (action, sequence);

CREATE INDEX audit_log_by_actor ON audit_log (actor, sequence);

CREATE INDEX audit_log_by_target ON audit_log (target, sequence);

CREATE TABLE batch_actions (
  id text PRIMARY KEY,
  org_id text,
  key_id text NOT NULL,
  key_family text,
  options text NOT NULL,
  status text NOT NULL,
  total integer NOT NULL,
  position integer NOT NULL,
  done integer NOT NULL,
  failed integer NOT NULL,
  skipped integer NOT NULL,
  failures text NOT NULL,
  actor text,
  owner text,
  lease_until bigint NOT NULL,
  created_at bigint NOT NULL,
  ended_at bigint,
  ids text NOT NULL);

CREATE INDEX batch_actions_ended ON batch_actions (ended_at) WHERE ended_at IS NOT NULL;

CREATE INDEX batch_actions_running ON batch_actions (created_at, id) WHERE status = 'running';

CREATE TABLE batch_chunks (
  batch_id text NOT NULL,
  seq integer NOT NULL,
  model text NOT NULL,
  prefix text NOT NULL,
  lines text NOT NULL,
  est bigint NOT NULL,
  state text NOT NULL,
  owner text,
  epoch integer NOT NULL,
  kills integer NOT NULL,
  org_id text NOT NULL,
  due bigint NOT NULL,
  n integer NOT NULL,
  PRIMARY KEY (batch_id, seq));

CREATE TRIGGER batch_chunks_added AFTER INSERT ON batch_chunks
  WHEN NEW.state = 'ready' AND NEW.seq > 0 BEGIN INSERT INTO queue_shares (model, org_id, served, ready) VALUES (NEW.model, NEW.org_id, 0, 1)
  ON CONFLICT (model, org_id) DO UPDATE SET ready = 1 WHERE ready = 0; END;

CREATE TRIGGER batch_chunks_late_added AFTER INSERT ON batch_chunks
  WHEN NEW.state = 'ready' AND NEW.seq > 0 AND NEW.due < -400000000000000 BEGIN INSERT INTO queue_shares (model, org_id, served, ready, late) VALUES (NEW.model, NEW.org_id, 0, 1, 1)
  ON CONFLICT (model, org_id) DO UPDATE SET ready = 1, late = 1 WHERE ready = 0 OR late = 0; END;

CREATE TRIGGER batch_chunks_late_moved AFTER UPDATE ON batch_chunks
  WHEN NEW.state = 'ready' AND NEW.seq > 0 AND NEW.due < -400000000000000 AND ((NEW.state, NEW.model, NEW.org_id) <> (OLD.state, OLD.model, OLD.org_id) OR OLD.due >= -400000000000000) BEGIN INSERT INTO queue_shares (model, org_id, served, ready, late) VALUES (NEW.model, NEW.org_id, 0, 1, 1)
  ON CONFLICT (model, org_id) DO UPDATE SET ready = 1, late = 1 WHERE ready = 0 OR late = 0; END;

CREATE TRIGGER batch_chunks_moved AFTER UPDATE ON batch_chunks
  WHEN NEW.state = 'ready' AND NEW.seq > 0 AND (NEW.state, NEW.model, NEW.org_id) <> (OLD.state, OLD.model, OLD.org_id) BEGIN INSERT INTO queue_shares (model, org_id, served, ready) VALUES (NEW.model, NEW.org_id, 0, 1)
  ON CONFLICT (model, org_id) DO UPDATE SET ready = 1 WHERE ready = 0; END;

CREATE INDEX batch_chunks_leased ON batch_chunks (owner) WHERE state = 'leased';

CREATE INDEX batch_chunks_ready ON batch_chunks (model, org_id, due, batch_id, kills, seq)
  WHERE state = 'ready' AND seq > 0;

CREATE INDEX batch_chunks_to_close ON batch_chunks (due, batch_id) WHERE state = 'ready' AND seq = 0;

CREATE INDEX batch_chunks_unfinished ON batch_chunks (batch_id)
  WHERE seq > 0 AND state IN ('ready', 'leased');

CREATE TABLE batch_histories (
  batch_id text PRIMARY KEY,
  updated_at bigint NOT NULL,
  interval_ms bigint NOT NULL,
  points text NOT NULL,
  waits text NOT NULL,
  omitted_waits integer NOT NULL);

CREATE TABLE batch_pauses (
  model text NOT NULL,
  org_id text NOT NULL,
  since bigint NOT NULL,
  key_id text NOT NULL,
  PRIMARY KEY (model, org_id));

CREATE TABLE batch_results (
  batch_id text NOT NULL,
  line integer NOT NULL,
  stream text NOT NULL,
  n integer NOT NULL,
  model text NOT NULL,
  input_tokens bigint NOT NULL,
  cached_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  attempts integer NOT NULL,
  code text,
  body blob NOT NULL, run text,
  PRIMARY KEY (batch_id, line));

CREATE INDEX batch_results_by_code ON batch_results (batch_id, code, n) WHERE stream = 'errors';

CREATE UNIQUE INDEX batch_results_in_order ON batch_results (batch_id, stream, n);

CREATE TABLE batches (
  id text PRIMARY KEY,
  org_id text NOT NULL,
  key_id text NOT NULL,
  endpoint text NOT NULL,
  status text NOT NULL,
  total integer NOT NULL,
  ok integer NOT NULL,
  err integer NOT NULL,
  due bigint NOT NULL,
  closing text,
  accept_until bigint NOT NULL,
  input_file_id text NOT NULL,
  output_file_id text,
  error_file_id text,
  model text,
  metadata text,
  prices text NOT NULL,
  price_factor double precision NOT NULL,
  errors text NOT NULL,
  error_summary text,
  result_ttl_ms bigint NOT NULL,
  created_at bigint NOT NULL,
  in_progress_at bigint,
  expires_at bigint NOT NULL,
  completed_at bigint,
  failed_at bigint,
  expired_at bigint,
  cancelling_at bigint,
  cancelled_at bigint,
  purged integer NOT NULL DEFAULT 0,
  at_risk_at bigint,
  retry_of text,
  paused_at bigint,
  paused_ms bigint NOT NULL DEFAULT 0, priority integer NOT NULL DEFAULT 5, tag text NOT NULL DEFAULT '', est bigint NOT NULL DEFAULT 0, input_name text, search text, key_family text, tier text, warnings text NOT NULL DEFAULT '[]', window_ms bigint);

CREATE INDEX batches_by_creation ON batches (org_id, created_at, id);

CREATE INDEX batches_by_endpoint ON batches (org_id, endpoint, id);

CREATE INDEX batches_by_expiry ON batches (expires_at, id) WHERE status IN ('validating', 'in_progress') AND closing IS NULL;

CREATE INDEX batches_by_org ON batches (org_id, id);

CREATE INDEX batches_by_status ON batches (org_id, status, id);

CREATE INDEX batches_of_creation ON batches (created_at, id);

CREATE INDEX batches_of_model ON batches (model, id);

CREATE INDEX batches_of_status ON batches ((status || ''), id);

CREATE INDEX batches_open ON batches (id) WHERE status IN ('validating', 'in_progress', 'cancelling');

CREATE INDEX batches_open_by_family ON batches ((COALESCE(key_family, key_id)))
  WHERE status IN ('validating', 'in_progress', 'cancelling');

CREATE INDEX batches_open_by_input ON batches (input_file_id) WHERE status IN ('validating', 'in_progress', 'cancelling');

CREATE INDEX batches_open_by_org ON batches (org_id) WHERE status IN ('validating', 'in_progress', 'cancelling');

CREATE INDEX batches_running ON batches (id) WHERE status = 'in_progress' AND closing IS NULL;

CREATE INDEX batches_to_hurry ON batches ((expires_at - (expires_at - created_at) / 4))
  WHERE status IN ('validating', 'in_progress') AND closing IS NULL AND due >= -400000000000000;

CREATE INDEX batches_to_purge ON batches (id)
  WHERE purged = 0 AND status IN ('completed', 'failed', 'cancelled', 'expired');

CREATE TABLE chats (
  id text NOT NULL,
  org_id text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  model text NOT NULL,
  metadata text NOT NULL,
  body text NOT NULL,
  messages text NOT NULL, key_id text,
  CONSTRAINT chats_by_id PRIMARY KEY (id));

CREATE INDEX chats_by_expiry ON chats (expires_at, id);

CREATE INDEX chats_by_org ON chats (org_id, id);

CREATE TABLE console_sessions (
  hash text PRIMARY KEY,
  key_hash text NOT NULL,
  key_is_configured integer NOT NULL,
  host text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL);

CREATE INDEX console_sessions_by_expiry ON console_sessions (expires_at);

CREATE TABLE conversation_items (
  conversation_id text NOT NULL,
  seq bigint NOT NULL,
  id text NOT NULL,
  item text NOT NULL, key_id text,
  CONSTRAINT conversation_items_by_place PRIMARY KEY (conversation_id, seq));

CREATE UNIQUE INDEX conversation_items_by_id ON conversation_items (conversation_id, id);

CREATE TABLE conversations (
  id text NOT NULL,
  org_id text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  last_seq bigint NOT NULL,
  bytes bigint NOT NULL,
  metadata text NOT NULL, key_id text,
  CONSTRAINT conversations_by_id PRIMARY KEY (id));

CREATE INDEX conversations_by_expiry ON conversations (expires_at, id);

CREATE TABLE creates (
  org_id text NOT NULL,
  token text NOT NULL,
  body_hash text NOT NULL,
  resource_id text NOT NULL,
  started_at bigint NOT NULL,
  retry integer NOT NULL,
  forget_at bigint NOT NULL,
  PRIMARY KEY (org_id, token));

CREATE INDEX creates_by_age ON creates (forget_at);

CREATE INDEX creates_by_resource ON creates (resource_id);

CREATE TABLE deleted_batches (
  id text PRIMARY KEY,
  org_id text NOT NULL,
  deleted_at bigint NOT NULL);

CREATE INDEX deleted_batches_by_time ON deleted_batches (deleted_at);

CREATE TABLE duties (
  name text PRIMARY KEY,
  owner text NOT NULL,
  until bigint NOT NULL,
  at_risk text NOT NULL);

CREATE TABLE files (
  id text PRIMARY KEY,
  org_id text NOT NULL,
  purpose text NOT NULL,
  filename text NOT NULL,
  bytes bigint NOT NULL,
  blob_id text NOT NULL UNIQUE,
  sha256 text NOT NULL,
  requests integer,
  endpoint text,
  created_at bigint NOT NULL,
  expires_at bigint, key_id text, warnings text NOT NULL DEFAULT '[]');

CREATE INDEX files_by_expiry ON files (expires_at, id) WHERE expires_at IS NOT NULL;

CREATE INDEX files_by_org ON files (org_id, id);

CREATE INDEX files_by_purpose ON files (org_id, purpose, id);

CREATE TABLE finished_upgrades (
  version integer PRIMARY KEY,
  finished_at bigint NOT NULL);

CREATE TABLE installation (
  one integer PRIMARY KEY CHECK (one = 1),
  id text NOT NULL,
  made_at bigint NOT NULL);

CREATE TABLE ledger_writers (
  id text PRIMARY KEY,
  last_commit bigint NOT NULL, written_at bigint);

CREATE TABLE limit_use (
  id text PRIMARY KEY,
  used text NOT NULL,
  used_at bigint NOT NULL);

CREATE TABLE missing_models (
  model text PRIMARY KEY,
  since bigint NOT NULL,
  seen_at bigint NOT NULL);

CREATE TABLE orgs (
  id text PRIMARY KEY,
  name text NOT NULL,
  created_at bigint NOT NULL,
  budget bigint,
  budget_period text,
  used_up_at bigint, limits text NOT NULL DEFAULT '{}', weight integer NOT NULL DEFAULT 1, disabled_at bigint, budget_hard integer NOT NULL DEFAULT 1);

CREATE INDEX orgs_disabled ON orgs (id) WHERE disabled_at IS NOT NULL;

CREATE INDEX orgs_with_budget ON orgs (id) WHERE budget IS NOT NULL;

CREATE TABLE queue_shares (
  model text NOT NULL,
  org_id text NOT NULL,
  served bigint NOT NULL, ready integer NOT NULL DEFAULT 0, late integer NOT NULL DEFAULT 0,
  PRIMARY KEY (model, org_id));

CREATE INDEX queue_shares_in_order ON queue_shares (model, served, org_id) WHERE ready = 1;

CREATE INDEX queue_shares_late ON queue_shares (model, served, org_id) WHERE ready = 1 AND late = 1;

CREATE TABLE queues (
  model text PRIMARY KEY,
  virtual_time bigint NOT NULL, owed bigint NOT NULL DEFAULT 0);

CREATE TABLE removed_blobs (
  blob_id text PRIMARY KEY,
  removed_at bigint NOT NULL);

CREATE TABLE replica_caps (
  id text PRIMARY KEY,
  model text NOT NULL,
  server text NOT NULL,
  max_in_flight bigint NOT NULL,
  since bigint NOT NULL,
  key_id text NOT NULL);

CREATE TABLE replica_drains (
  id text PRIMARY KEY,
  model text NOT NULL,
  server text NOT NULL,
  since bigint NOT NULL,
  key_id text NOT NULL);

CREATE TABLE request_bodies (
  batch_id text NOT NULL,
  line integer NOT NULL,
  body blob NOT NULL,
  PRIMARY KEY (batch_id, line));

CREATE TABLE response_usage (
  org_id text PRIMARY KEY,
  bytes bigint NOT NULL, file_bytes bigint NOT NULL DEFAULT 0, responses bigint NOT NULL DEFAULT 0);

CREATE TABLE responses (
  id text NOT NULL,
  org_id text NOT NULL,
  status text NOT NULL,
  previous_id text,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  alive_until bigint,
  said_bytes bigint NOT NULL,
  input text NOT NULL,
  output text NOT NULL,
  body text NOT NULL,
  pieces text, key_id text, request_id text,
  CONSTRAINT responses_by_id PRIMARY KEY (id));

CREATE INDEX responses_by_expiry ON responses (expires_at, id);

CREATE INDEX responses_by_request ON responses (request_id) WHERE request_id IS NOT NULL;

CREATE INDEX responses_unfinished ON responses (alive_until, id) WHERE alive_until IS NOT NULL;

CREATE TABLE schema_support (oldest integer PRIMARY KEY);

CREATE TABLE schema_version (
  version integer PRIMARY KEY,
  name text NOT NULL,
  applied_at bigint NOT NULL);

CREATE TABLE slot_leases (
  model text PRIMARY KEY,
  leases text NOT NULL);

CREATE TABLE spending (
  org_id text NOT NULL,
  month text NOT NULL,
  amount bigint NOT NULL,
  PRIMARY KEY (org_id, month));

CREATE TABLE usage_ledger (
  source_id text NOT NULL,
  model text NOT NULL,
  day text NOT NULL,
  org_id text NOT NULL,
  key_id text,
  requests bigint NOT NULL,
  input_tokens bigint NOT NULL,
  cached_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  reasoning_tokens bigint NOT NULL,
  amount bigint, endpoint text NOT NULL DEFAULT '', tag text NOT NULL DEFAULT '', cache_write_tokens bigint NOT NULL DEFAULT 0, amount_rest bigint NOT NULL DEFAULT 0, rolled_up integer NOT NULL DEFAULT 0,
  PRIMARY KEY (source_id, model, day));

CREATE INDEX usage_ledger_by_org ON usage_ledger (org_id, day);

CREATE INDEX usage_ledger_summed_hours ON usage_ledger (day) WHERE rolled_up = 2;

CREATE INDEX usage_ledger_to_sum ON usage_ledger (day) WHERE rolled_up < 2;

CREATE TABLE usage_sums (
  level text NOT NULL,
  span text NOT NULL,
  org_id text NOT NULL,
  model text NOT NULL,
  key_id text NOT NULL,
  endpoint text NOT NULL,
  tag text NOT NULL,
  tier text NOT NULL,
  requests bigint NOT NULL,
  input_tokens bigint NOT NULL,
  cached_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  reasoning_tokens bigint NOT NULL,
  amount bigint NOT NULL,
  PRIMARY KEY (level, span, org_id, model, key_id, endpoint, tag, tier));

CREATE INDEX usage_sums_by_span ON usage_sums (level, span);

CREATE TABLE webhook_deliveries (
  id text PRIMARY KEY,
  org_id text NOT NULL,
  webhook_id text NOT NULL,
  event_id text NOT NULL,
  event_type text NOT NULL,
  event_at bigint NOT NULL,
  resource_id text NOT NULL,
  created_at bigint NOT NULL,
  status text NOT NULL,
  attempts integer NOT NULL,
  owner text,
  due_at bigint,
  last_attempt_at bigint,
  last_status integer,
  last_error text);

CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (created_at, id);

CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (webhook_id, id);

CREATE INDEX webhook_deliveries_due ON webhook_deliveries (due_at) WHERE due_at IS NOT NULL;

CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (webhook_id, due_at, id) WHERE due_at IS NOT NULL;

CREATE TABLE webhooks (
  id text PRIMARY KEY,
  org_id text NOT NULL,
  name text NOT NULL,
  url text NOT NULL,
  event_types text NOT NULL,
  secret text NOT NULL,
  old_secret text,
  old_secret_until bigint,
  created_at bigint NOT NULL,
  disabled_at bigint,
  disabled_reason text);

CREATE INDEX webhooks_by_org ON webhooks (org_id, id);

CREATE TABLE workers (
  id text PRIMARY KEY,
  beat_at bigint NOT NULL,
  load text NOT NULL, schema_version integer NOT NULL DEFAULT 1);
