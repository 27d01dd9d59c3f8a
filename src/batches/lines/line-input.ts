import type { Blobs } from '../../blobs/blobs.ts';
import type { LineRef } from '../../core/batch.ts';
import { lostBlob } from '../../core/blob-error.ts';
import type { RequestStore } from '../../store/contract/requests.ts';

/** Source of the lines of a batch: its input file or, for a group of single requests, the database. */
export interface LineInput {
  /** Equal for batches with the same input. */
  readonly name: string;
  /** Bytes of the lines, in their order. @throws BlobError */
  read(refs: readonly LineRef[]): Promise<Uint8Array[]>;
}

export function fileInput(blobs: Pick<Blobs, 'slices'>, blobId: string): LineInput {
  return {
    name: blobId,
    read: (refs) => blobs.slices(blobId, refs),
  };
}

export function groupInput(store: Pick<RequestStore, 'bodies'>, groupId: string): LineInput {
  return {
    name: groupId,
    async read(refs) {
      const lines = refs.map(({ line }) => line);
      const bodies = await store.bodies(groupId, lines);
      return bodies.map((body, at) => {
        if (body) return body;
        throw lostBlob('missing', `The request ${lines[at]} of ${groupId} is gone.`);
      });
    },
  };
}
