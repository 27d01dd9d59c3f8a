import type { Fields } from '../../../base/fields.ts';
import { parseBody, requirePlain } from './parse-body.ts';
import type { Repairs } from './repairs.ts';
import type { RefusalContext } from './status-errors.ts';
import type { Reply, StreamedReply } from './replies.ts';
import type { Transport } from './transport.ts';

export type JsonClient = ReturnType<typeof createJsonClient>;

export interface JsonReply {
  fields: Fields;
  bytes: Buffer;
}

export type Opened = ({ isStream: true } & StreamedReply) | ({ isStream: false } & JsonReply);

export interface JsonClientDeps {
  context: () => RefusalContext;
  repairs: Repairs;
  transport: () => Transport;
  /** Behind the base of the URL. */
  pathOf: (path: string) => string;
}

/** Questions to one server, in any format, and what refusals of it mean. */
export function createJsonClient({ transport, pathOf, context, repairs }: JsonClientDeps) {
  const parsed = (reply: Reply<Buffer>): JsonReply => ({
    fields: parseBody(reply, context(), repairs),
    bytes: reply.body,
  });

  return {
    context,
    repairs,

    /** @throws ApiError what its status or an error in it means */
    ask: (path: string, body: Buffer, signal: AbortSignal, headers?: readonly string[]): Promise<JsonReply> =>
      transport().post(pathOf(path), body, signal, headers).then(parsed),

    /** The same for a stream; some servers answer at once all the same: an error, or the whole answer. */
    async open(
      path: string,
      body: Buffer,
      signal: AbortSignal,
      headers?: readonly string[],
    ): Promise<Opened> {
      const reply = await transport().postStreaming(pathOf(path), body, signal, headers);
      if (isStream(reply)) {
        requirePlainStream(reply);
        return { isStream: true, ...reply };
      }
      const bytes = await wholeBody(reply.body);
      return { isStream: false, fields: parseBody({ ...reply, body: bytes }, context(), repairs), bytes };
    },
  };
}

function isStream({ status, headers }: Reply<unknown>): boolean {
  return status === 200 && (headers['content-type'] ?? '').includes('text/event-stream');
}

async function wholeBody(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts);
}

/** What is refused by its headers alone is not read, and would hold its connection. */
function requirePlainStream({ headers, finish }: StreamedReply): void {
  try {
    requirePlain(headers);
  } catch (error) {
    finish();
    throw error;
  }
}
