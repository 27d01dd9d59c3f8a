import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { truncate } from '../../base/truncate.ts';
import { heavySlices } from '../../base/loop-slices.ts';
import { ApiError } from '../../core/errors.ts';
import type { BodyShare } from './body-budget.ts';

/** Size in bytes above which parsing a body as JSON delays other requests noticeably. */
const largeBytes = 65_536;
const empty: Buffer = Buffer.alloc(0);

/**
 * Reads the body and rejects it as soon as it exceeds the limit, declared or not; the connection can still carry the
 * answer. Large bodies that end together resolve in separate turns of the event loop.
 * @param owner org that sends it
 * @throws ApiError `payload_too_large`, `server_overloaded`; Error when the client goes away
 */
export async function readBody(request: IncomingMessage, maxBytes: number, share: BodyShare, owner: string) {
  const bytes = await collect(request, maxBytes, share);
  if (bytes.length >= largeBytes) await heavySlices.next(owner);
  return bytes;
}

function collect(request: IncomingMessage, maxBytes: number, share: BodyShare): Promise<Buffer> {
  const declared = Number(request.headers['content-length'] ?? 0);
  return new Promise((resolve, reject) => {
    let body = empty;
    let size = 0;
    const done = (outcome: () => void) => {
      request.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose);
      outcome();
    };
    const check = (bytes: number) => {
      if (bytes > maxBytes)
        throw new ApiError('payload_too_large', `The request body is larger than ${maxBytes} bytes.`);
      share.reserve(bytes);
    };
    const onData = (chunk: Buffer) => {
      const filled = size;
      size += chunk.length;
      try {
        if (size > declared) check(size);
        body = appended(body, filled, chunk, declared);
      } catch (error) {
        request.pause();
        done(() => reject(error));
      }
    };
    const onEnd = () => done(() => resolve(body.length === size ? body : body.subarray(0, size)));
    const onError = (error: Error) => done(() => reject(error));
    const onClose = () => onError(new Error('the client went away'));
    check(declared);
    request.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose);
  });
}

/**
 * Appends a chunk without copying a body that arrives in one piece, and copying a declared one only once, chunk by chunk:
 * copying 40 MB at the end would block the event loop.
 */
function appended(body: Buffer, filled: number, chunk: Buffer, declared: number): Buffer {
  const needed = filled + chunk.length;
  if (filled === 0 && needed >= declared) return chunk;
  const room = needed <= body.length ? body : Buffer.allocUnsafeSlow(Math.max(needed, declared, filled * 2));
  if (room !== body) body.copy(room, 0, 0, filled);
  chunk.copy(room, filled);
  return room;
}

const strict = new TextDecoder('utf-8', { fatal: true });

/**
 * Text of a JSON body, without a leading byte order mark.
 * @throws ApiError `invalid_encoding`
 */
export function decodeText(body: Buffer): string {
  try {
    return strict.decode(body);
  } catch (error) {
    throw new ApiError('invalid_encoding', 'The request body is not valid UTF-8.', { cause: error });
  }
}

/**
 * Bytes of a body that is valid UTF-8, without a leading byte order mark.
 * @throws ApiError `invalid_encoding`
 */
export function checkedUtf8(body: Buffer): Uint8Array {
  if (!isUtf8(body)) throw new ApiError('invalid_encoding', 'The request body is not valid UTF-8.');
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body;
}

/**
 * Checks the content type, and that the body is not compressed.
 * @throws ApiError `unsupported_media_type`
 */
export function requireMediaType(
  request: IncomingMessage,
  expected: 'application/json' | 'multipart/form-data',
): void {
  const { 'content-type': type, 'content-encoding': encoding } = request.headers;
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new ApiError(
      'unsupported_media_type',
      `Content-Encoding ${clip(encoding)} is not supported. Send the body uncompressed.`,
    );
  if (type?.split(';')[0]?.trim().toLowerCase() === expected) return;
  const sent = type === undefined ? 'but the header is missing' : `not ${clip(type)}`;
  throw new ApiError('unsupported_media_type', `Content-Type must be ${expected}, ${sent}.`);
}

function clip(value: string): string {
  return truncate(value, 80, '...');
}
