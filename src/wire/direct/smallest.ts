import { type DirectKind, directKinds, type Serves } from '../../core/model.ts';
import { directFormats, type DirectRequests } from './direct-formats.ts';

/** Smallest request of the first direct kind that a model serves; undefined if it serves none. */
export function smallestDirect(
  serves: readonly Serves[],
  model: string,
): { kind: DirectKind; request: DirectRequests[DirectKind] } | undefined {
  const kind = directKinds.find((each) => serves.includes(each));
  return kind && { kind, request: { ...directFormats[kind].smallest, model } as DirectRequests[DirectKind] };
}
