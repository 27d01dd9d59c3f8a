import type { CompletionAbility } from '../completions/plan.ts';
import type { FlavorTraits } from './traits.ts';

export const native = (reason: string) => ({ value: 'native' as const, reason });
export const viaChat = (reason: string) => ({ value: 'via chat' as const, reason });
export const shared = (reason: string) => ({ value: 'shared' as const, reason });
export const no = (reason: string) => ({ value: false, reason });
export const fields = (names: string, reason: string) => ({ value: names.split(/\s+/), reason });
export const newer = viaChat(
  'newer versions have it, and none tells which it is; what it makes of tools differs by version',
);
export const newerHaveBoth = { messages: newer, responses: newer };
const bearer = { value: { header: 'authorization', scheme: 'Bearer ' }, reason: 'documented' };
const byModels: FlavorTraits['report'] = {
  value: 'models',
  reason: 'everybody lists models; some tell the length of the context there',
};
export const completions = (abilities: readonly CompletionAbility[], reason: string) => ({
  value: abilities,
  reason,
});
export const all = ['raw', 'lists', 'tokens', 'n', 'best_of', 'echo', 'suffix'] as const;
const hosted = { value: [], reason: 'it counts no chat completions' };
const nothing = { value: [], reason: 'what it does not know, it passes over' };
/** The older name is the one that everybody reads. */
export const maxTokens = { max_completion_tokens: 'max_tokens' };
export const byTemplate =
  'the chat template decides which roles exist, and most templates do not know this one';

/** What most servers share. */
export const usual = { auth: bearer, without: nothing, counter: hosted, report: byModels };

/** Of hosted services, where one more small request waits for no other. */
export const answersChat: FlavorTraits['life'] = {
  value: 'chat',
  reason: 'the list of models is told by another machine than the one that hangs',
};

/** What most hosted services share. */
export const service = {
  ...usual,
  life: answersChat,
  jsonSchema: native('documented'),
  forcedTool: native('documented'),
  names: { value: maxTokens, reason: 'documented' },
  developerRole: no('system is documented'),
};
