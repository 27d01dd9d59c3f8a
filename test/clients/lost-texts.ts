import type { ModelRequest } from './agent-model.ts';

/** Fields whose text a model does not need. */
const silent = new Set(
  `type id call_id tool_use_id role status phase signature cache_control metadata client_metadata execution author recipient
  prompt_cache_key model include service_tier tool_choice context_management stream thinking output_config reasoning text_format
  $schema`.split(/\s+/),
);

/** Tools that a server would run, and reasoning, which turns without tools may drop. */
const left = new Set(['web_search', 'reasoning', 'thinking']);

/** Returns the texts of `bodies` that no request to the model contains. */
export function findLostTexts(
  bodies: readonly Record<string, unknown>[],
  asked: readonly ModelRequest[],
): string[] {
  const told = JSON.stringify(asked);
  const texts = new Set(
    bodies.flatMap(({ input, messages, system, instructions, tools }) =>
      textsIn([input, messages, system, instructions, tools]),
    ),
  );
  return [...texts].filter((text) => !isIn(text, told));
}

/** Finds a text as it is or inside a JSON string. */
function isIn(text: string, told: string): boolean {
  const once = inner(text);
  return told.includes(once) || told.includes(inner(once));
}

const inner = (text: string) => JSON.stringify(text).slice(1, -1);

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return value.trim() === '' ? [] : [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== 'object' || value === null) return [];
  const fields = value as Record<string, unknown>;
  if (left.has(String(fields['type']))) return [];
  return Object.entries(fields).flatMap(([name, each]) => (silent.has(name) ? [] : textsIn(each)));
}
