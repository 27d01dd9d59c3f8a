import type { Route } from '../route.ts';
import { adminRoutes } from './admin.ts';
import { adminBatchRoutes } from './admin-batches.ts';
import { adminBatchActionRoutes, batchActionRoutes } from './batch-actions.ts';
import { adminBatchLineRoutes, batchLineRoutes } from './batch-lines.ts';
import { adminBatchStreamRoutes, batchStreamRoutes } from './batch-streams.ts';
import { batchRoutes } from './batches.ts';
import { chatRoutes } from './chat-completions.ts';
import { controlRoutes } from './controls.ts';
import { conversationRoutes } from './conversations.ts';
import { fileRoutes } from './files.ts';
import { generationRoutes } from './generation.ts';
import { limitRoutes } from './limits.ts';
import { loadRoutes } from './load.ts';
import { messageBatchRoutes } from './message-batches.ts';
import { messageRoutes } from './messages.ts';
import { modelRoutes } from './models.ts';
import { responseRoutes } from './responses.ts';
import { secretsRoutes } from './secrets.ts';
import { serverRoutes } from './server.ts';
import { usageRoutes } from './usage.ts';
import { organizationRoutes } from './organization.ts';
import { webhookRoutes } from './webhooks.ts';

/** All operations of the API. */
export const routes: readonly Route[] = [
  ...batchRoutes,
  ...batchLineRoutes,
  ...batchActionRoutes,
  ...batchStreamRoutes,
  ...fileRoutes,
  ...chatRoutes,
  ...responseRoutes,
  ...conversationRoutes,
  ...messageRoutes,
  ...messageBatchRoutes,
  ...generationRoutes,
  ...modelRoutes,
  ...webhookRoutes,
  ...usageRoutes,
  ...organizationRoutes,
  ...limitRoutes,
  ...adminRoutes,
  ...secretsRoutes,
  ...adminBatchRoutes,
  ...adminBatchLineRoutes,
  ...adminBatchActionRoutes,
  ...adminBatchStreamRoutes,
  ...controlRoutes,
  ...loadRoutes,
  ...serverRoutes,
];
