import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Who is told of events, and how far each telling is. */
export const webhooks: Migration = {
  version: 5,
  name: 'webhooks',
  statements: ({ text }: ColumnTypes) => [
    'ALTER TABLE batches ADD COLUMN at_risk_at bigint',

    `CREATE TABLE webhooks (
      id ${text} PRIMARY KEY,
      org_id ${text} NOT NULL,
      name ${text} NOT NULL,
      url ${text} NOT NULL,
      event_types ${text} NOT NULL,
      secret ${text} NOT NULL,
      old_secret ${text},
      old_secret_until bigint,
      created_at bigint NOT NULL,
      disabled_at bigint,
      disabled_reason ${text})`,
    'CREATE INDEX webhooks_by_org ON webhooks (org_id, id)',

    // due_at is null once nothing is to be done any more; while an owner is at it, it is when his lease ends.
    `CREATE TABLE webhook_deliveries (
      id ${text} PRIMARY KEY,
      org_id ${text} NOT NULL,
      webhook_id ${text} NOT NULL,
      event_id ${text} NOT NULL,
      event_type ${text} NOT NULL,
      event_at bigint NOT NULL,
      resource_id ${text} NOT NULL,
      created_at bigint NOT NULL,
      status ${text} NOT NULL,
      attempts integer NOT NULL,
      owner ${text},
      due_at bigint,
      last_attempt_at bigint,
      last_status integer,
      last_error ${text})`,
    'CREATE INDEX webhook_deliveries_due ON webhook_deliveries (due_at) WHERE due_at IS NOT NULL',
    'CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (webhook_id, due_at, id) WHERE due_at IS NOT NULL',
    'CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (webhook_id, id)',
    'CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (created_at, id)',
  ],
};
