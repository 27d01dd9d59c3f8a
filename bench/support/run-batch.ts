import { multipart } from './batch-file.ts';
import type { Offpeak } from './offpeak.ts';

interface Batch {
  id: string;
  status: string;
  request_counts: { total: number; completed: number; failed: number };
}

/** Uploads a batch file and returns its id. */
export async function uploadFile(offpeak: Offpeak, file: Buffer): Promise<string> {
  const { body, contentType } = multipart(file);
  return (await offpeak.post<{ id: string }>('/v1/files', body, contentType)).id;
}

/**
 * Creates a batch over a file of `rows` lines and polls gently until it is completed.
 * @returns epoch milliseconds of the completion; throws if a row failed
 */
export async function runBatch(offpeak: Offpeak, fileId: string, rows: number): Promise<number> {
  const creation = { endpoint: '/v1/chat/completions', completion_window: '24h', input_file_id: fileId };
  const { id } = await offpeak.post<Batch>('/v1/batches', JSON.stringify(creation));
  for (;;) {
    const { status, request_counts: counts } = await offpeak.get<Batch>(`/v1/batches/${id}`);
    if (status === 'completed') {
      if (counts.completed !== rows) throw new Error(`${counts.failed} of ${rows} rows failed`);
      return Date.now();
    }
    if (status !== 'validating' && status !== 'in_progress') throw new Error(`the batch is ${status}`);
    const share = (counts.completed + counts.failed) / rows;
    await new Promise((resolve) => setTimeout(resolve, share > 0.97 ? 10 : 250));
  }
}
