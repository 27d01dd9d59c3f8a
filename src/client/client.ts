import { type AdminClient, createAdminClient } from './admin.ts';
import { type BatchesClient, createBatchesClient } from './batches.ts';
import { type FilesClient, createFilesClient } from './files.ts';
import { type GenerationClient, createGenerationClient } from './generation.ts';
import type { Page, RemoteModel } from './resources.ts';
import { type TransportOptions, createTransport } from './transport.ts';
import { type WebhooksClient, createWebhooksClient } from './webhooks.ts';

/** A server seen from outside. Every call rejects with `ClientError` or `Unreachable`. */
export interface Client extends GenerationClient {
  readonly baseUrl: string;
  files: FilesClient;
  batches: BatchesClient;
  models: { list(): Promise<Page<RemoteModel>> };
  webhooks: WebhooksClient;
  admin: AdminClient;
}

export function createClient(options: TransportOptions): Client {
  const transport = createTransport(options);
  return {
    baseUrl: transport.baseUrl,
    files: createFilesClient(transport),
    batches: createBatchesClient(transport),
    models: { list: () => transport.json({ path: '/v1/models' }) },
    webhooks: createWebhooksClient(transport),
    admin: createAdminClient(transport),
    ...createGenerationClient(transport),
  };
}
