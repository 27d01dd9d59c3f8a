import type { MessagesRequest } from '../messages.ts';

/** Budgets up to which thinking counts as low, and as medium. */
const lowBudget = 4_096;
const mediumBudget = 16_384;

/**
 * How hard the model shall think, in chat's words; undefined leaves it to the model. An effort that is told wins over one
 * guessed from a budget.
 */
export function reasoningEffort({ thinking, output_config: config }: MessagesRequest): string | undefined {
  if (thinking?.type === 'disabled') return 'none';
  if (config?.effort) return config.effort;
  const budget = thinkingBudget({ thinking });
  if (budget === undefined) return undefined;
  if (budget <= lowBudget) return 'low';
  return budget <= mediumBudget ? 'medium' : 'high';
}

/** The budget itself, for engines that can be told. */
export function thinkingBudget({ thinking }: Pick<MessagesRequest, 'thinking'>): number | undefined {
  return thinking?.type === 'enabled' ? (thinking.budget_tokens ?? undefined) : undefined;
}
