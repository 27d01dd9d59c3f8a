import type { Flavor, CustomFailure } from '../../../core/flavor.ts';
import type { FailureRule } from '../connection/failure-rules.ts';
import { anthropic, azure, deepseek, gemini, mistral, openai, openrouter, xai } from './hosted.ts';
import { generic, llamaServer, offpeak, ollama, sglang, vllm } from './self-hosted.ts';
import type { UpstreamOptions } from '../upstream-options.ts';
import { behindRouter } from './router-traits.ts';
import type { FlavorTraits } from './traits.ts';

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

type Kind = Pick<UpstreamOptions, 'flavor' | 'ownTraits' | 'model' | 'router'>;

/** Traits of a server for a model, with the configured differences. */
export function traitsOf({ router, ...kind }: Kind): FlavorTraits {
  const traits = serverTraits(kind);
  return router ? behindRouter(traits, router) : traits;
}

function serverTraits({ flavor = 'generic', ownTraits: own, model }: Omit<Kind, 'router'>): FlavorTraits {
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

/** Headers of every call: the key in the flavor's form, and the configured headers. */
export function headersOf({
  apiKey,
  headers,
  ...kind
}: Kind & Pick<UpstreamOptions, 'apiKey' | 'headers'>): Record<string, string> {
  const { header, scheme, extraHeaders } = traitsOf(kind).auth;
  return { ...extraHeaders, ...(apiKey && { [header]: scheme + apiKey }), ...headers };
}

function rowOf({ says, ...row }: CustomFailure): FailureRule {
  const begins = (message: string) => message.toLowerCase().startsWith(says?.toLowerCase() ?? '');
  return { ...row, says: { test: begins } };
}
