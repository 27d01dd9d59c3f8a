import { limitNames, type LimitName } from '../../../../src/core/limits.ts';
import { limitLabels } from '../../parts/limit-labels.ts';

/** Fields of a form for the settings of an org or a key, as text. */
export interface Draft {
  name: string;
  /** USD; empty for no budget. */
  budget: string;
  period: 'month' | 'total';
  isHard: boolean;
  /** Empty for no limit. Those of `queued_tokens` are `model=number` pairs, separated by commas. */
  limits: Record<LimitName, string>;
}

interface Settings {
  name: string;
  budget: { amount: string; period: 'month' | 'total'; hard: boolean } | null;
  limits: Limits;
}

type Limits = { [Name in Exclude<LimitName, 'queued_tokens'>]?: number } & {
  queued_tokens?: Record<string, number>;
};

export function toDraft(settings?: Settings): Draft {
  const limits = settings?.limits ?? {};
  return {
    name: settings?.name ?? '',
    budget: settings?.budget?.amount ?? '',
    period: settings?.budget?.period ?? 'month',
    isHard: settings?.budget?.hard ?? true,
    limits: Object.fromEntries(limitNames.map((name) => [name, limitText(limits, name)])) as Draft['limits'],
  };
}

function limitText(limits: Limits, name: LimitName): string {
  if (name !== 'queued_tokens') return String(limits[name] ?? '');
  return Object.entries(limits.queued_tokens ?? {})
    .map(([model, tokens]) => `${model}=${tokens}`)
    .join(', ');
}

/** Settings of the draft that differ from those before. @throws Error that names the field */
export function changesOf(draft: Draft, before?: Settings) {
  const old = toDraft(before);
  const isBudgetChanged =
    draft.budget.trim() !== old.budget ||
    (draft.budget.trim() !== '' && (draft.period !== old.period || draft.isHard !== old.isHard));
  const limits = limitChanges(draft, old);
  return {
    ...(draft.name.trim() !== old.name && { name: draft.name.trim() }),
    ...(isBudgetChanged && { budget: budgetOf(draft) }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}

function budgetOf({ budget, period, isHard }: Draft) {
  const amount = budget.trim().replace(/^\$/, '');
  return amount === '' ? null : { amount, period, hard: isHard };
}

function limitChanges(draft: Draft, old: Draft) {
  const changed = limitNames.filter((name) => draft.limits[name].trim() !== old.limits[name]);
  return Object.fromEntries(
    changed.map((name) => {
      const text = draft.limits[name].trim();
      if (name === 'queued_tokens') return [name, tokenChanges(text, old.limits[name])];
      return [name, text === '' ? null : wholeNumber(text, limitLabels[name])];
    }),
  );
}

/** Limits by model, with null for those that are gone. */
function tokenChanges(text: string, old: string): Record<string, number | null> | null {
  if (text === '') return null;
  const gone = Object.keys(tokensOf(old)).map((model) => [model, null] as const);
  return { ...Object.fromEntries(gone), ...tokensOf(text) };
}

function tokensOf(text: string): Record<string, number> {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '');
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.lastIndexOf('=');
      const model = pair.slice(0, at).trim();
      if (at < 0 || model === '')
        throw new Error(`${limitLabels.queued_tokens}: write model=number, such as qwen3=50000000.`);
      return [model, wholeNumber(pair.slice(at + 1).trim(), limitLabels.queued_tokens)];
    }),
  );
}

function wholeNumber(text: string, label: string): number {
  const digits = text.replaceAll(/[,_ ]/g, '');
  if (!/^\d{1,15}$/.test(digits)) throw new Error(`${label}: write a whole number, 0 or more.`);
  return Number(digits);
}
