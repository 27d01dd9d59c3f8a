import { RoundRobinQueue } from '../../base/round-robin-queue.ts';
import { callOwner } from '../call-owner.ts';
import type { PriorityClass } from '../sql/priority-classes.ts';

/** Calls that may overtake a scan, so that it also ends on a busy thread. */
const maxOvertaking = 100;

/**
 * Waiting calls of the database thread. All calls of one class go before those of the next; within a class, orgs take turns, so that a
 * call of one org never waits for more than one of each other org.
 */
export class CallQueue<Call extends { args: readonly unknown[] }> {
  readonly #beat = new RoundRobinQueue<Call>();
  readonly #record = new RoundRobinQueue<Call>();
  readonly #others = new RoundRobinQueue<Call>();
  readonly #scan = new RoundRobinQueue<Call>();
  #overtaking = 0;

  add(call: Call, lane: PriorityClass | undefined): void {
    this.#queueOf(lane).add(callOwner(call.args), call);
  }

  next(): Call | undefined {
    const [others, scan] = [this.#others, this.#scan];
    const isScanDue = scan.size > 0 && ++this.#overtaking > maxOvertaking;
    const order = [this.#beat, this.#record, ...(isScanDue ? [scan, others] : [others, scan])];
    const queue = order.find(({ size }) => size > 0);
    if (queue === scan) this.#overtaking = 0;
    const turn = queue?.peek();
    if (turn) queue!.dequeue(...turn);
    return turn?.[1];
  }

  #queueOf(lane: PriorityClass | undefined): RoundRobinQueue<Call> {
    if (lane === 'beat') return this.#beat;
    if (lane === 'record') return this.#record;
    return lane === 'scan' ? this.#scan : this.#others;
  }
}
