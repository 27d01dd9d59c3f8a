import type { ChatUsage } from '../../wire/chat/chat.ts';

/** The usage of several tries at one answer: all their tokens were produced. */
export function sumUsage(first: ChatUsage, second: ChatUsage): ChatUsage {
  return added(first, second) as ChatUsage;
}

/** Numbers by name, at any depth, added up; what only one of the two has stays as it is. */
function added(first: object, second: object): object {
  const sum: Record<string, unknown> = { ...first };
  for (const [name, value] of Object.entries(second) as [string, unknown][]) {
    const other = sum[name];
    if (typeof other === 'number' && typeof value === 'number') sum[name] = other + value;
    else if (isObject(other) && isObject(value)) sum[name] = added(other, value);
    else sum[name] = other ?? value;
  }
  return sum;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
