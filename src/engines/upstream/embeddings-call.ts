import type { Engine } from '../engines.ts';
import { noEmbeddings, readEmbeddings, refusedDimensions, wantedOf } from './answer/embeddings-response.ts';
import type { JsonClient } from './connection/json-client.ts';
import { AbsentError } from './connection/status-errors.ts';
import type { Prober } from './probe/prober.ts';
import { embeddingsMembers } from './request/request-members.ts';
import { embeddingsText } from './request/request-text.ts';

/** Embeddings of a server. */
export function createEmbeddingsCall(
  exchanges: JsonClient,
  profile: Prober,
  { model, passThrough = [] }: { model: string; passThrough?: readonly string[] | undefined },
): Engine['embed'] {
  const wording = { model, members: embeddingsMembers(passThrough) };
  return async (request, { signal, trace: known }) => {
    const body = Buffer.from(embeddingsText(request, wording));
    const asked = wantedOf(request);
    request.release?.();
    const { fields } = await exchanges
      .ask(profile.now.embeddingsPath, body, signal)
      .catch(async (error: unknown) => {
        if (error instanceof AbsentError && (await profile.listsModel())) throw noEmbeddings();
        throw refusedDimensions(error, asked);
      });
    const { repairs } = exchanges;
    return readEmbeddings(fields, asked, { repairs, known, cutsAt: profile.now.reading.cutsAt });
  };
}
