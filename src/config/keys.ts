import { words } from '../base/words.ts';

export const logLevels = words('trace debug info warn error silent');

/** Keys of the configuration file. A test compares them with docs/configuration.md. */
export const configKeys = {
  root: [
    ...words(
      'server console data database postgres files s3 models model_folder hub limits batch surfaces strict_fields metrics tracing egress',
    ),
    ...words(
      'quarantine role drain_delay drain usage_tag log_level api_key admin_key secrets_key accepted_secrets_keys',
    ),
  ],
  server: words('host port trusted_proxies'),
  postgres: words('connections prepare'),
  surfaces: words('openai anthropic'),
  hub: words('endpoint token'),
  model: words('id aliases serves price fallbacks batch image_urls engine'),
  modelBatch: words('hours share fallbacks_after'),
  price: words('from input cached_input cache_write output tiers'),
  priceTier: words('above input cached_input cache_write output'),
  llama: words('kind path sequences context threads flash_attention gpu gpu_layers vram_reserve'),
  openai: words(
    'kind flavor url urls router model api_key headers ca inputs capabilities pass_through cache_salt slots timeouts',
  ),
  job: words(
    'kind run command status cancel address entrypoint runtime_env headers model flavor inputs folder lines jobs wait poll max_time',
  ),
  router: words('kind batch interactive objective_headers fairness_headers'),
  flavor: words(
    'like chat_path embeddings_path rerank_path score_path moderations_path auth_header auth_scheme fields rename drop usage finish effort failures',
  ),
  failures: words('status code says means'),
  capabilities: words('json_schema forced_tool prefix_cache custom_tools messages responses completions'),
  urls: words('url model flavor slots api_key weight drain'),
  scripted: words('kind slots delay'),
  timeouts: words('connect first_byte idle total'),
  limits: [
    ...words('requests_per_batch bytes_per_batch line_bytes open_batches_per_org body_bytes'),
    ...words('conversation_bytes stored_bytes_per_org stored_responses_per_org response_bytes_per_org'),
    ...words('disk_reserve_bytes body_bytes_in_flight connections connections_per_address'),
    ...words('anonymous_requests_per_second per_org per_key'),
  ],
  requestLimits: [
    ...words('requests_per_minute input_tokens_per_minute output_tokens_per_minute concurrent_requests'),
    ...words('open_batches queued_requests queued_tokens'),
  ],
  files: words('store fallback purposes bytes'),
  s3: words('endpoint region path_style access_key secret_key session_token cache_bytes'),
  metrics: words('host port orgs'),
  tracing: words('endpoint headers sample parent_based'),
  egress: words('allow ports'),
  batch: words(
    'endpoints windows price_factor result_ttl keep completion_window flex_timeout background_timeout cancel_grace lost_model_after hours share dates floor floor_at_risk max_slowdown',
  ),
} as const;

/** Environment variables that override a key. */
export const environmentKeys = {
  OFFPEAK_HOST: 'server.host',
  OFFPEAK_PORT: 'server.port',
  OFFPEAK_DATA: 'data',
  OFFPEAK_DATABASE: 'database',
  OFFPEAK_FILES: 'files.store',
  OFFPEAK_ROLE: 'role',
  OFFPEAK_MODEL_FOLDER: 'model_folder',
  OFFPEAK_HF_ENDPOINT: 'hub.endpoint',
  OFFPEAK_HF_TOKEN: 'hub.token',
  OFFPEAK_LOG_LEVEL: 'log_level',
  OFFPEAK_API_KEY: 'api_key',
  OFFPEAK_ADMIN_KEY: 'admin_key',
  OFFPEAK_SECRETS_KEY: 'secrets_key',
} as const;
