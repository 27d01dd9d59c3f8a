import type { Flavor, OwnFailure, OwnTraits } from '../../../core/flavor.ts';
import type { FailureRow } from '../connection/failures.ts';
import { anthropic } from './anthropic.ts';
import { azure } from './azure.ts';
import { deepseek } from './deepseek.ts';
import { gemini } from './gemini.ts';
import { generic } from './generic.ts';
import { llamaServer } from './llama-server.ts';
import { mistral } from './mistral.ts';
import { offpeak } from './offpeak.ts';
import { ollama } from './ollama.ts';
import { openai } from './openai.ts';
import { openrouter } from './openrouter.ts';
import { sglang } from './sglang.ts';
import { vllm } from './vllm.ts';
import { xai } from './xai.ts';
import type { FlavorTraits } from './traits.ts';

/** What servers of each kind do by themselves (wire-formats.md, sections 0.8, 2.3 and 2.4). */
export const flavorTraits: Record<Flavor, FlavorTraits> = {
  vllm,
  sglang,
  'llama-server': llamaServer,
  ollama,
  openai,
  azure,
  openrouter,
  gemini,
  mistral,
  deepseek,
  xai,
  anthropic,
  offpeak,
  generic,
};

/** What a server does by itself, with what the configuration says of it. */
export function traitsOf(flavor: Flavor | 'auto', own: OwnTraits | undefined): FlavorTraits {
  const like = flavorTraits[flavor === 'auto' ? 'generic' : flavor];
  if (!own) return like;
  const reason = 'configured';
  const { paths, auth, names, without, usage, finish, effort, failures } = own;
  return {
    ...like,
    ...(auth && { auth: { value: { ...like.auth.value, ...auth }, reason } }),
    paths: { value: paths, reason },
    fields: { value: [...like.fields.value, ...own.fields], reason },
    names: { value: { ...like.names.value, ...names }, reason },
    without: { value: [...like.without.value, ...without], reason },
    ...(Object.keys(usage).length > 0 && { usage: { value: usage, reason } }),
    finish: { value: finish, reason },
    ...(effort && { effort: { value: effort, reason } }),
    failures: { value: [...failures.map(rowOf), ...(like.failures?.value ?? [])], reason },
  };
}

function rowOf({ says, ...row }: OwnFailure): FailureRow {
  const begins = (message: string) => message.toLowerCase().startsWith(says?.toLowerCase() ?? '');
  return { ...row, says: { test: begins } };
}
