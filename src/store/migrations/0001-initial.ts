import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

export const initial: Migration = {
  version: 1,
  name: 'initial',
  statements: ({ blob, text }: ColumnTypes) => [
    `CREATE TABLE orgs (
      id ${text} PRIMARY KEY,
      name ${text} NOT NULL,
      created_at bigint NOT NULL)`,

    `CREATE TABLE api_keys (
      id ${text} PRIMARY KEY,
      org_id ${text} NOT NULL,
      hash ${text} NOT NULL UNIQUE,
      name ${text} NOT NULL,
      prefix ${text} NOT NULL,
      scopes ${text} NOT NULL,
      models ${text},
      created_at bigint NOT NULL,
      expires_at bigint,
      revoked_at bigint,
      last_used_at bigint)`,
    'CREATE INDEX api_keys_by_org ON api_keys (org_id, id)',

    `CREATE TABLE files (
      id ${text} PRIMARY KEY,
      org_id ${text} NOT NULL,
      purpose ${text} NOT NULL,
      filename ${text} NOT NULL,
      bytes bigint NOT NULL,
      blob_id ${text} NOT NULL UNIQUE,
      sha256 ${text} NOT NULL,
      requests integer,
      endpoint ${text},
      created_at bigint NOT NULL,
      expires_at bigint)`,
    'CREATE INDEX files_by_org ON files (org_id, id)',
    'CREATE INDEX files_by_expiry ON files (expires_at, id) WHERE expires_at IS NOT NULL',

    // ok and err are live and exact: they are written in the transaction that writes the results they count.
    `CREATE TABLE batches (
      id ${text} PRIMARY KEY,
      org_id ${text} NOT NULL,
      key_id ${text} NOT NULL,
      endpoint ${text} NOT NULL,
      status ${text} NOT NULL,
      total integer NOT NULL,
      ok integer NOT NULL,
      err integer NOT NULL,
      due bigint NOT NULL,
      closing ${text},
      accept_until bigint NOT NULL,
      input_file_id ${text} NOT NULL,
      output_file_id ${text},
      error_file_id ${text},
      model ${text},
      metadata ${text},
      prices ${text} NOT NULL,
      price_factor double precision NOT NULL,
      errors ${text} NOT NULL,
      error_summary ${text},
      result_ttl_ms bigint NOT NULL,
      created_at bigint NOT NULL,
      in_progress_at bigint,
      expires_at bigint NOT NULL,
      completed_at bigint,
      failed_at bigint,
      expired_at bigint,
      cancelling_at bigint,
      cancelled_at bigint,
      purged integer NOT NULL DEFAULT 0)`,
    'CREATE INDEX batches_by_org ON batches (org_id, id)',
    `CREATE INDEX batches_by_due ON batches (due, id) WHERE ${undecided}`,
    `CREATE INDEX batches_by_expiry ON batches (expires_at, id) WHERE ${undecided}`,
    `CREATE INDEX batches_open_by_org ON batches (org_id) WHERE ${open}`,
    `CREATE INDEX batches_open_by_input ON batches (input_file_id) WHERE ${open}`,
    `CREATE INDEX batches_ending ON batches (due, id) WHERE closing IS NOT NULL AND ${open}`,
    `CREATE INDEX batches_to_purge ON batches (id)
      WHERE purged = 0 AND status IN ('completed', 'failed', 'cancelled', 'expired')`,

    // lines: [[line, offset, length], ...] in dispatch order. state: ready, leased, done; held for closing chunks.
    `CREATE TABLE batch_chunks (
      batch_id ${text} NOT NULL,
      seq integer NOT NULL,
      model ${text} NOT NULL,
      prefix ${text} NOT NULL,
      lines ${text} NOT NULL,
      est bigint NOT NULL,
      state ${text} NOT NULL,
      owner ${text},
      epoch integer NOT NULL,
      kills integer NOT NULL,
      PRIMARY KEY (batch_id, seq))`,
    "CREATE INDEX batch_chunks_ready ON batch_chunks (batch_id, model, kills, seq) WHERE state = 'ready'",
    "CREATE INDEX batch_chunks_leased ON batch_chunks (owner) WHERE state = 'leased'",

    // n: the place in its stream and in the file made of it. The body comes last, so that sums need not read it.
    `CREATE TABLE batch_results (
      batch_id ${text} NOT NULL,
      line integer NOT NULL,
      stream ${text} NOT NULL,
      n integer NOT NULL,
      model ${text} NOT NULL,
      input_tokens bigint NOT NULL,
      cached_tokens bigint NOT NULL,
      output_tokens bigint NOT NULL,
      attempts integer NOT NULL,
      code ${text},
      body ${blob} NOT NULL,
      PRIMARY KEY (batch_id, line))`,
    'CREATE UNIQUE INDEX batch_results_in_order ON batch_results (batch_id, stream, n)',
    "CREATE INDEX batch_results_by_code ON batch_results (batch_id, code, n) WHERE stream = 'errors'",

    `CREATE TABLE workers (
      id ${text} PRIMARY KEY,
      beat_at bigint NOT NULL,
      load ${text} NOT NULL)`,

    `CREATE TABLE usage_ledger (
      source_id ${text} NOT NULL,
      model ${text} NOT NULL,
      day ${text} NOT NULL,
      org_id ${text} NOT NULL,
      requests bigint NOT NULL,
      input_tokens bigint NOT NULL,
      cached_tokens bigint NOT NULL,
      output_tokens bigint NOT NULL,
      amount bigint,
      PRIMARY KEY (source_id, model, day))`,
    'CREATE INDEX usage_ledger_by_org ON usage_ledger (org_id, day)',

    `CREATE TABLE creates (
      org_id ${text} NOT NULL,
      token ${text} NOT NULL,
      body_hash ${text} NOT NULL,
      resource_id ${text} NOT NULL,
      started_at bigint NOT NULL,
      retry integer NOT NULL,
      forget_at bigint NOT NULL,
      PRIMARY KEY (org_id, token))`,
    'CREATE INDEX creates_by_resource ON creates (resource_id)',
    'CREATE INDEX creates_by_age ON creates (forget_at)',
  ],
};

/** Batches that lines may still be claimed of. */
const undecided = "status IN ('validating', 'in_progress') AND closing IS NULL";
/** Batches that are not finished. */
const open = "status IN ('validating', 'in_progress', 'cancelling')";
