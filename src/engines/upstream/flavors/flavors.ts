import type { Flavor, CustomFailure } from '../../../core/flavor.ts';
import type { FailureRule } from '../connection/failure-rules.ts';
import { anthropic, azure, deepseek, gemini, mistral, openai, openrouter, xai } from './hosted.ts';
import { generic, llamaServer, offpeak, ollama, sglang, vllm } from './self-hosted.ts';
import type { UpstreamOptions } from '../upstream-options.ts';
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

type Kind = Pick<UpstreamOptions, 'flavor' | 'ownTraits' | 'model'>;

/** What a server does by itself for a model, with what the configuration says of it. */
export function traitsOf({ flavor = 'generic', ownTraits: own, model }: Kind): FlavorTraits {
  const all = flavorTraits[flavor === 'auto' ? 'generic' : flavor];
  const like = { ...all, ...all.models?.find(([name]) => name.test(model))?.[1] };
  if (!own) return like;
  const { paths, auth, fields, names, without, usage, finish, effort, failures } = own;
  return {
    ...like,
    ...(auth && { auth: { ...like.auth, ...auth } }),
    paths,
    fields: [...like.fields, ...fields],
    names: { ...like.names, ...names },
    without: [...like.without, ...without],
    ...(Object.keys(usage).length > 0 && { usage }),
    finish,
    ...(effort && { effort }),
    failures: [...failures.map(rowOf), ...(like.failures ?? [])],
  };
}

/** What every call to a server carries: the key as servers of its kind want it, and what was configured. */
export function headersOf({
  apiKey,
  headers,
  ...kind
}: Kind & Pick<UpstreamOptions, 'apiKey' | 'headers'>): Record<string, string> {
  const { header, scheme, beside } = traitsOf(kind).auth;
  return { ...beside, ...(apiKey && { [header]: scheme + apiKey }), ...headers };
}

function rowOf({ says, ...row }: CustomFailure): FailureRule {
  const begins = (message: string) => message.toLowerCase().startsWith(says?.toLowerCase() ?? '');
  return { ...row, says: { test: begins } };
}
