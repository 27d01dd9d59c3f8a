import type { ColumnTypes } from '../db.ts';
import type { Migration } from './migration.ts';

/** Sizes of conversations before anything of them is read, and what each org keeps. */
export const conversations: Migration = {
  version: 4,
  name: 'conversations',
  statements: ({ text, dialect }: ColumnTypes) => [
    'ALTER TABLE responses RENAME TO responses_before',
    'DROP INDEX responses_by_expiry',
    'DROP INDEX responses_unfinished',
    // alive_until is null once the response is finished. input, output, body and pieces are JSON, and come last: what is
    // before them is read without them. body has the output of responses made before this step still in it.
    `CREATE TABLE responses (
      id ${text} NOT NULL,
      org_id ${text} NOT NULL,
      status ${text} NOT NULL,
      previous_id ${text},
      created_at bigint NOT NULL,
      expires_at bigint NOT NULL,
      alive_until bigint,
      said_bytes bigint NOT NULL,
      input ${text} NOT NULL,
      output ${text} NOT NULL,
      body ${text} NOT NULL,
      pieces ${text},
      CONSTRAINT responses_by_id PRIMARY KEY (id))`,
    // Cut out of the body as it was written, because Postgres reads no JSON with \u0000 in it. Within texts quotes are
    // escaped, so the first of either mark is the key.
    `INSERT INTO responses SELECT id, org_id, status, previous_id, created_at, expires_at, alive_until,
      octet_length(input) + octet_length(output), input, output, body, pieces
      FROM (SELECT *, substr(rest, 1, ${position[dialect]}(rest, ',"parallel_tool_calls":') - 1) AS output
        FROM (SELECT *, substr(body, ${position[dialect]}(body, ',"output":[') + 10) AS rest
          FROM responses_before) AS begun) AS ended`,
    'DROP TABLE responses_before',
    'CREATE INDEX responses_by_expiry ON responses (expires_at, id)',
    'CREATE INDEX responses_unfinished ON responses (alive_until, id) WHERE alive_until IS NOT NULL',

    `CREATE TABLE response_usage (
      org_id ${text} PRIMARY KEY,
      bytes bigint NOT NULL)`,
    `INSERT INTO response_usage SELECT org_id, sum(octet_length(input) + octet_length(output) +
      octet_length(body) + COALESCE(octet_length(pieces), 0)) FROM responses GROUP BY org_id`,
  ],
};

const position = { sqlite: 'instr', postgres: 'strpos' };
