import type { Page, PageQuery, RemoteFile } from './resources.ts';
import { type Transport, bytesOf } from './transport.ts';

export interface FilesClient {
  /** `content` is streamed: a Blob of a file on disk is never read into memory whole. */
  upload(input: UploadInput): Promise<RemoteFile>;
  get(id: string): Promise<RemoteFile>;
  list(query?: PageQuery & { purpose?: string; order?: 'asc' | 'desc' }): Promise<Page<RemoteFile>>;
  content(id: string, signal?: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
  remove(id: string): Promise<{ id: string; deleted: boolean }>;
}

export interface UploadInput {
  content: Blob;
  filename: string;
  expiresAfterSeconds?: number | undefined;
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

export function createFilesClient(transport: Transport): FilesClient {
  return {
    upload({ content, filename, expiresAfterSeconds, idempotencyKey, signal }) {
      const form = new FormData();
      form.set('purpose', 'batch');
      if (expiresAfterSeconds !== undefined) {
        form.set('expires_after[anchor]', 'created_at');
        form.set('expires_after[seconds]', String(expiresAfterSeconds));
      }
      form.set('file', content, filename);
      return transport.json({ method: 'POST', path: '/v1/files', form, idempotencyKey, signal });
    },
    get: (id) => transport.json({ path: pathOf(id) }),
    list: ({ limit, after, signal, purpose, order } = {}) =>
      transport.json({ path: '/v1/files', query: { limit, after, purpose, order }, signal }),
    async content(id, signal) {
      const response = await transport.send({ path: `${pathOf(id)}/content`, signal });
      return bytesOf(response, transport.baseUrl);
    },
    remove: (id) => transport.json({ method: 'DELETE', path: pathOf(id) }),
  };
}

function pathOf(id: string): string {
  return `/v1/files/${encodeURIComponent(id)}`;
}
