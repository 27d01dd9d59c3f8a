import { isFinal } from '../../src/core/batch.ts';
import type { StoredFile } from '../../src/core/file.ts';
import type { Damage } from './plan.ts';
import type { World } from './world.ts';

/** Damages blobs and remembers their original content. */
export class Damaged {
  readonly #world: World;
  readonly #before = new Map<string, Uint8Array>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Damages the input of a running batch or a result file, if there is one. */
  async strike({ what, how }: Damage): Promise<void> {
    const { blobs, random } = this.#world;
    const found = what === 'input' ? this.#inputs() : await this.#results();
    const whole = found.filter((name) => !this.#before.has(name) && blobs.stored.get(name)?.length);
    if (whole.length === 0) return;
    const name = random.pick(whole);
    const bytes = blobs.stored.get(name)!;
    this.#before.set(name, bytes);
    this.#world.trace.add('world', `${name} is damaged`);
    if (how === 'gone') return blobs.remove(name);
    const at = random.int(0, bytes.length - 1);
    if (how === 'cut') return blobs.put(name, bytes.slice(0, at));
    const flipped = bytes.slice();
    flipped[at]! ^= 1 << random.int(0, 7);
    blobs.put(name, flipped);
  }

  get isPlanned(): boolean {
    return this.#world.plan.incidents.some(({ incident }) => incident.kind === 'damage');
  }

  has(file: Pick<StoredFile, 'blobId'>): boolean {
    return this.#before.has(file.blobId);
  }

  /** Original content of a blob. */
  stored(blobId: string): Uint8Array | undefined {
    return this.#before.get(blobId) ?? this.#world.blobs.stored.get(blobId);
  }

  #inputs(): string[] {
    const { inputs, observer } = this.#world;
    return inputs.flatMap(({ file }) => {
      const status = observer.statusOf(this.#world.idOf(file.id.slice('file-'.length)));
      return status && !isFinal(status) ? [file.blobId] : [];
    });
  }

  async #results(): Promise<string[]> {
    const files = await Promise.all(
      [...this.#world.batchIds.values()].flatMap((id) =>
        (['output', 'errors'] as const).map((stream) => this.#world.resultFile(id, stream)),
      ),
    );
    return files.flatMap((file) => file?.blobId ?? []);
  }
}
