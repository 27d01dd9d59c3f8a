CREATE TABLE api_keys (
  id text COLLATE "C" NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  prefix text COLLATE "C" NOT NULL,
  scopes text COLLATE "C" NOT NULL,
  models text COLLATE "C",
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint,
  last_used_at bigint,
  PRIMARY KEY (id),
  UNIQUE (hash));

CREATE INDEX api_keys_by_org ON public.api_keys USING btree (org_id, id);

CREATE TABLE batch_chunks (
  batch_id text COLLATE "C" NOT NULL,
  seq integer NOT NULL,
  model text COLLATE "C" NOT NULL,
  prefix text COLLATE "C" NOT NULL,
  lines text COLLATE "C" NOT NULL,
  est bigint NOT NULL,
  state text COLLATE "C" NOT NULL,
  owner text COLLATE "C",
  epoch integer NOT NULL,
  kills integer NOT NULL,
  org_id text COLLATE "C" NOT NULL DEFAULT ''::text,
  due bigint NOT NULL DEFAULT 0,
  n integer NOT NULL DEFAULT 1,
  PRIMARY KEY (batch_id, seq));

CREATE INDEX batch_chunks_leased ON public.batch_chunks USING btree (owner) WHERE (state = 'leased'::text);

CREATE INDEX batch_chunks_ready ON public.batch_chunks USING btree (model, org_id, due, batch_id, kills, seq) WHERE ((state = 'ready'::text) AND (seq > 0));

CREATE INDEX batch_chunks_to_close ON public.batch_chunks USING btree (due, batch_id) WHERE ((state = 'ready'::text) AND (seq = 0));

CREATE TABLE batch_results (
  batch_id text COLLATE "C" NOT NULL,
  line integer NOT NULL,
  stream text COLLATE "C" NOT NULL,
  n integer NOT NULL,
  model text COLLATE "C" NOT NULL,
  input_tokens bigint NOT NULL,
  cached_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  attempts integer NOT NULL,
  code text COLLATE "C",
  body bytea NOT NULL,
  PRIMARY KEY (batch_id, line));

CREATE INDEX batch_results_by_code ON public.batch_results USING btree (batch_id, code, n) WHERE (stream = 'errors'::text);

CREATE UNIQUE INDEX batch_results_in_order ON public.batch_results USING btree (batch_id, stream, n);

CREATE TABLE batches (
  id text COLLATE "C" NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  endpoint text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  total integer NOT NULL,
  ok integer NOT NULL,
  err integer NOT NULL,
  due bigint NOT NULL,
  closing text COLLATE "C",
  accept_until bigint NOT NULL,
  input_file_id text COLLATE "C" NOT NULL,
  output_file_id text COLLATE "C",
  error_file_id text COLLATE "C",
  model text COLLATE "C",
  metadata text COLLATE "C",
  prices text COLLATE "C" NOT NULL,
  price_factor double precision NOT NULL,
  errors text COLLATE "C" NOT NULL,
  error_summary text COLLATE "C",
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
  retry_of text COLLATE "C",
  paused_at bigint,
  paused_ms bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (id));

CREATE INDEX batches_by_creation ON public.batches USING btree (org_id, created_at, id);

CREATE INDEX batches_by_expiry ON public.batches USING btree (expires_at, id) WHERE ((status = ANY (ARRAY['validating'::text, 'in_progress'::text])) AND (closing IS NULL));

CREATE INDEX batches_by_org ON public.batches USING btree (org_id, id);

CREATE INDEX batches_by_status ON public.batches USING btree (org_id, status, id);

CREATE INDEX batches_open_by_input ON public.batches USING btree (input_file_id) WHERE (status = ANY (ARRAY['validating'::text, 'in_progress'::text, 'cancelling'::text]));

CREATE INDEX batches_open_by_org ON public.batches USING btree (org_id) WHERE (status = ANY (ARRAY['validating'::text, 'in_progress'::text, 'cancelling'::text]));

CREATE INDEX batches_to_purge ON public.batches USING btree (id) WHERE ((purged = 0) AND (status = ANY (ARRAY['completed'::text, 'failed'::text, 'cancelled'::text, 'expired'::text])));

CREATE TABLE chats (
  id text COLLATE "C" NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  model text COLLATE "C" NOT NULL,
  metadata text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL,
  messages text COLLATE "C" NOT NULL,
  PRIMARY KEY (id));

CREATE INDEX chats_by_expiry ON public.chats USING btree (expires_at, id);

CREATE INDEX chats_by_org ON public.chats USING btree (org_id, id);

CREATE TABLE conversation_items (
  conversation_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  item text COLLATE "C" NOT NULL,
  PRIMARY KEY (conversation_id, seq));

CREATE UNIQUE INDEX conversation_items_by_id ON public.conversation_items USING btree (conversation_id, id);

CREATE TABLE conversations (
  id text COLLATE "C" NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  last_seq bigint NOT NULL,
  bytes bigint NOT NULL,
  metadata text COLLATE "C" NOT NULL,
  PRIMARY KEY (id));

CREATE INDEX conversations_by_expiry ON public.conversations USING btree (expires_at, id);

CREATE TABLE creates (
  org_id text COLLATE "C" NOT NULL,
  token text COLLATE "C" NOT NULL,
  body_hash text COLLATE "C" NOT NULL,
  resource_id text COLLATE "C" NOT NULL,
  started_at bigint NOT NULL,
  retry integer NOT NULL,
  forget_at bigint NOT NULL,
  PRIMARY KEY (org_id, token));

CREATE INDEX creates_by_age ON public.creates USING btree (forget_at);

CREATE INDEX creates_by_resource ON public.creates USING btree (resource_id);

CREATE TABLE files (
  id text COLLATE "C" NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  purpose text COLLATE "C" NOT NULL,
  filename text COLLATE "C" NOT NULL,
  bytes bigint NOT NULL,
  blob_id text COLLATE "C" NOT NULL,
  sha256 text COLLATE "C" NOT NULL,
  requests integer,
  endpoint text COLLATE "C",
  created_at bigint NOT NULL,
  expires_at bigint,
  PRIMARY KEY (id),
  UNIQUE (blob_id));

CREATE INDEX files_by_expiry ON public.files USING btree (expires_at, id) WHERE (expires_at IS NOT NULL);

CREATE INDEX files_by_org ON public.files USING btree (org_id, id);

CREATE TABLE installation (
  one integer NOT NULL,
  id text COLLATE "C" NOT NULL,
  made_at bigint NOT NULL,
  CHECK ((one = 1)),
  PRIMARY KEY (one));

CREATE TABLE missing_models (
  model text COLLATE "C" NOT NULL,
  since bigint NOT NULL,
  seen_at bigint NOT NULL,
  PRIMARY KEY (model));

CREATE TABLE orgs (
  id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  budget bigint,
  budget_period text COLLATE "C",
  used_up_at bigint,
  PRIMARY KEY (id));

CREATE TABLE queue_shares (
  model text COLLATE "C" NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  served bigint NOT NULL,
  PRIMARY KEY (model, org_id));

CREATE TABLE queues (
  model text COLLATE "C" NOT NULL,
  virtual_time bigint NOT NULL,
  PRIMARY KEY (model));

CREATE TABLE removed_blobs (
  blob_id text COLLATE "C" NOT NULL,
  removed_at bigint NOT NULL,
  PRIMARY KEY (blob_id));

CREATE TABLE response_usage (
  org_id text COLLATE "C" NOT NULL,
  bytes bigint NOT NULL,
  PRIMARY KEY (org_id));

CREATE TABLE responses (
  id text COLLATE "C" NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  previous_id text COLLATE "C",
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  alive_until bigint,
  said_bytes bigint NOT NULL,
  input text COLLATE "C" NOT NULL,
  output text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL,
  pieces text COLLATE "C",
  PRIMARY KEY (id));

CREATE INDEX responses_by_expiry ON public.responses USING btree (expires_at, id);

CREATE INDEX responses_unfinished ON public.responses USING btree (alive_until, id) WHERE (alive_until IS NOT NULL);

CREATE TABLE schema_version (
  version integer NOT NULL,
  name text COLLATE "C" NOT NULL,
  applied_at bigint NOT NULL,
  PRIMARY KEY (version));

CREATE TABLE slot_leases (
  model text COLLATE "C" NOT NULL,
  leases text COLLATE "C" NOT NULL,
  PRIMARY KEY (model));

CREATE TABLE spending (
  org_id text COLLATE "C" NOT NULL,
  month text COLLATE "C" NOT NULL,
  amount bigint NOT NULL,
  PRIMARY KEY (org_id, month));

CREATE TABLE usage_ledger (
  source_id text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  day text COLLATE "C" NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  requests bigint NOT NULL,
  input_tokens bigint NOT NULL,
  cached_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  amount bigint,
  reasoning_tokens bigint NOT NULL DEFAULT 0,
  key_id text COLLATE "C",
  PRIMARY KEY (source_id, model, day));

CREATE INDEX usage_ledger_by_org ON public.usage_ledger USING btree (org_id, day);

CREATE TABLE webhook_deliveries (
  id text COLLATE "C" NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  webhook_id text COLLATE "C" NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  event_type text COLLATE "C" NOT NULL,
  event_at bigint NOT NULL,
  resource_id text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  status text COLLATE "C" NOT NULL,
  attempts integer NOT NULL,
  owner text COLLATE "C",
  due_at bigint,
  last_attempt_at bigint,
  last_status integer,
  last_error text COLLATE "C",
  PRIMARY KEY (id));

CREATE INDEX webhook_deliveries_by_age ON public.webhook_deliveries USING btree (created_at, id);

CREATE INDEX webhook_deliveries_by_webhook ON public.webhook_deliveries USING btree (webhook_id, id);

CREATE INDEX webhook_deliveries_due ON public.webhook_deliveries USING btree (due_at) WHERE (due_at IS NOT NULL);

CREATE INDEX webhook_deliveries_waiting ON public.webhook_deliveries USING btree (webhook_id, due_at, id) WHERE (due_at IS NOT NULL);

CREATE TABLE webhooks (
  id text COLLATE "C" NOT NULL,
  org_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  url text COLLATE "C" NOT NULL,
  event_types text COLLATE "C" NOT NULL,
  secret text COLLATE "C" NOT NULL,
  old_secret text COLLATE "C",
  old_secret_until bigint,
  created_at bigint NOT NULL,
  disabled_at bigint,
  disabled_reason text COLLATE "C",
  PRIMARY KEY (id));

CREATE INDEX webhooks_by_org ON public.webhooks USING btree (org_id, id);

CREATE TABLE workers (
  id text COLLATE "C" NOT NULL,
  beat_at bigint NOT NULL,
  load text COLLATE "C" NOT NULL,
  PRIMARY KEY (id));
