import { once } from 'node:events';
import { cleanText } from './clean-text.ts';
import type { Terminal } from './terminal.ts';

/** Bytes of a server to stdout: as they are into a pipe, without control characters onto a terminal. */
export async function writeBytes(chunks: AsyncIterable<Uint8Array>, { stdout }: Terminal): Promise<void> {
  const decoder = new TextDecoder();
  for await (const chunk of chunks) {
    const shown = stdout.isTTY === true ? cleanText(decoder.decode(chunk, { stream: true })) : chunk;
    if (!stdout.write(shown)) await once(stdout, 'drain');
  }
}
