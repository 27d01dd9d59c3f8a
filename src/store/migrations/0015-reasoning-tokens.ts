import type { Migration } from './migration.ts';

/** Reasoning tokens, which are part of the output tokens. What the ledger holds from before this step counts as having none. */
export const reasoningTokens: Migration = {
  version: 15,
  name: 'reasoning-tokens',
  statements: () => ['ALTER TABLE usage_ledger ADD COLUMN reasoning_tokens bigint NOT NULL DEFAULT 0'],
};
