import { ApiError, permanent } from '../../../core/errors.ts';
import { servesNames } from '../../../core/model-access.ts';
import type { DirectKind } from '../../../core/model.ts';
import type { DirectRequests, DirectResults } from '../../../wire/direct/direct-formats.ts';
import type { Members } from '../../../wire/json/pick-members.ts';
import type { Engine } from '../../engines.ts';
import type { JsonClient } from '../connection/json-client.ts';
import { AbsentError } from '../connection/status-errors.ts';
import type { FlavorTraits } from '../flavors/traits.ts';
import type { Prober } from '../probe/prober.ts';
import { anything } from '../request/request-members.ts';
import { directText } from '../request/request-text.ts';
import type { DirectCodec } from './direct-codec.ts';
import { embeddingsCodec } from './embeddings.ts';
import { moderationsCodec } from './moderations.ts';
import { rerankCodec } from './rerank.ts';
import { scoreCodec, scoreByRerankCodec } from './score.ts';

type Codecs = { [Kind in DirectKind]: DirectCodec<DirectRequests[Kind], DirectResults[Kind]> };

const codecs: Codecs = {
  embeddings: embeddingsCodec,
  rerank: rerankCodec,
  score: scoreCodec,
  moderations: moderationsCodec,
};
const withoutScores: Codecs = { ...codecs, score: scoreByRerankCodec };

export function codecsOf({ scoresByRerank }: Pick<FlavorTraits, 'scoresByRerank'>): Codecs {
  return scoresByRerank ? withoutScores : codecs;
}

export function createDirectCalls(
  client: JsonClient,
  prober: Prober,
  { model, passThrough = [] }: { model: string; passThrough?: readonly string[] | undefined },
): Engine['direct'] {
  const { repairs } = client;
  const passed = anything(passThrough);
  const membersOf = new Map<Members, Members>();
  const sentMembers = (own: Members): Members => {
    const members = membersOf.get(own) ?? new Map([...own, ...passed]);
    membersOf.set(own, members);
    return members;
  };

  return async (kind, request, call) => {
    const { trace } = call;
    const { traits, directPaths } = prober.profile;
    const { path, members, listName, edit, expect } = codecsOf(traits)[kind];
    const { salt } = prober.profile.requestFor(call);
    const profile = { model, members: sentMembers(members), salt };
    const body = Buffer.from(directText(request, profile, edit));
    const expected = expect(request);
    request.release?.();
    const { fields } = await client
      .postForList(directPaths[path], listName, body, call)
      .catch(async (error: unknown) => {
        if (error instanceof AbsentError && (await prober.listsModel())) throw notServed(kind);
        throw expected.explain?.(error) ?? error;
      });
    return expected.read(fields, { repairs, trace, cutsAt: prober.profile.reading.cutsAt });
  };
}

/** Error for a server that has the model but lacks the endpoint for it. */
function notServed(kind: DirectKind): ApiError {
  const message = `The server of this model does not support ${servesNames[kind]} with it.`;
  return new ApiError('model_not_found', message, { param: 'model', blame: permanent });
}
