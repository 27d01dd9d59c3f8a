import type { Fields } from '../../../base/fields.ts';
import type { Router } from '../../../core/router.ts';
import type { EngineCall } from '../../engines.ts';
import { callHeaders, type HeadedCall } from './call-headers.ts';
import { parseBody, requireUncompressed } from './parse-body.ts';
import type { Repairs } from './repairs.ts';
import type { Reply, StreamedReply } from './replies.ts';
import type { RefusalContext } from './status-errors.ts';
import type { Transport } from './transport.ts';

export type JsonClient = ReturnType<typeof createJsonClient>;

export interface JsonReply {
  fields: Fields;
  bytes: Buffer;
}

export type OpenedReply = ({ isStream: true } & StreamedReply) | ({ isStream: false } & JsonReply);

export interface JsonClientDeps {
  context: () => RefusalContext;
  repairs: Repairs;
  transport: (call: CallContext) => Pick<Transport, 'post' | 'postStreaming'>;
  /** Full path below the base of the URL. */
  pathOf: (path: string) => string;
  /** Router that reads headers of the calls. */
  router?: Router | undefined;
}

/** @param headers of this request alone, names and values in turn */
type How = [body: Buffer, call: CallContext, headers?: readonly string[]];

type CallContext = HeadedCall & Pick<EngineCall, 'signal' | 'line'>;

/** Posts JSON to one server, in any format, and turns its refusals into errors. */
export function createJsonClient({ transport, pathOf, context, repairs, router }: JsonClientDeps) {
  const parse = (reply: Reply<Buffer>, listName?: string): JsonReply => ({
    fields: parseBody(reply, context(), repairs, listName),
    bytes: reply.body,
  });

  const sent = ([body, call, headers = []]: How) =>
    [body, call.signal, [...callHeaders(call, router), ...headers]] as const;

  const postForList = (path: string, listName: string | undefined, ...how: How): Promise<JsonReply> =>
    transport(how[1])
      .post(pathOf(path), ...sent(how))
      .then((reply) => parse(reply, listName));

  return {
    context,
    repairs,

    /** @throws ApiError for an error status or an error in the body */
    post: (path: string, ...how: How): Promise<JsonReply> => postForList(path, undefined, ...how),

    /** As `post`. An answer that is a list becomes an object with a member of this name, unless that is undefined. */
    postForList,

    /** Posts a request for a stream. Some servers reply with an error or with the whole answer. @throws like `post` */
    async postStreaming(path: string, ...how: How): Promise<OpenedReply> {
      const reply = await transport(how[1]).postStreaming(pathOf(path), ...sent(how));
      if (!isStream(reply)) {
        const parts: Buffer[] = [];
        for await (const part of reply.body) parts.push(part);
        return { isStream: false, ...parse({ ...reply, body: Buffer.concat(parts) }) };
      }
      try {
        requireUncompressed(reply.headers);
      } catch (error) {
        // An unread body would keep its connection busy.
        reply.finish();
        throw error;
      }
      return { isStream: true, ...reply };
    },
  };
}

function isStream({ status, headers }: Reply<unknown>): boolean {
  return status === 200 && (headers['content-type'] ?? '').includes('text/event-stream');
}
