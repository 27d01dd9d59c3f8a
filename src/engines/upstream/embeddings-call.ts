import type { Engine } from '../engines.ts';
import { expectedOf, noEmbeddings, readEmbeddings, refusedDimensions } from './answer/embeddings-response.ts';
import type { JsonClient } from './connection/json-client.ts';
import { AbsentError } from './connection/status-errors.ts';
import type { Prober } from './probe/prober.ts';
import { embeddingsMembers } from './request/request-members.ts';
import { embeddingsText } from './request/request-text.ts';

export function createEmbeddingsCall(
  client: JsonClient,
  prober: Prober,
  { model, passThrough = [] }: { model: string; passThrough?: readonly string[] | undefined },
): Engine['embed'] {
  const members = embeddingsMembers(passThrough);
  const { repairs } = client;
  return async (request, { signal, trace }) => {
    const body = Buffer.from(embeddingsText(request, { model, members }));
    const expected = expectedOf(request);
    request.release?.();
    const { fields } = await client
      .post(prober.profile.embeddingsPath, body, signal)
      .catch(async (error: unknown) => {
        if (error instanceof AbsentError && (await prober.listsModel())) throw noEmbeddings();
        throw refusedDimensions(error, expected);
      });
    return readEmbeddings(fields, expected, { repairs, trace, cutsAt: prober.profile.reading.cutsAt });
  };
}
