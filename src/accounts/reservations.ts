/** Part of the budgets of an org and a key that a request holds, until its charge is in the ledger. Nano-dollars. */
export interface Reservation {
  /** Replaces the estimate by the cost of the request. */
  charge(amount: number): void;
  /** The charge was written to the ledger, or given up. */
  settle(): void;
  /** Ends a reservation that was not charged; ignored otherwise. */
  release(): void;
}

/** For requests without a budget. */
export const noReservation: Reservation = Object.freeze({ charge() {}, settle() {}, release() {} });

/** Amounts of one budget that the last read of the ledger does not include. */
interface Held {
  /** Estimates and charges that are not in the ledger. */
  open: number;
  /** Charges in the ledger: all since the start, and those that a read included. Both only grow. */
  written: number;
  included: number;
}

/** Amounts that count against budgets, in addition to what was read from the ledger. */
export function createReservations() {
  const held = new Map<string, Held>();

  const heldBy = (id: string): Held => {
    let of = held.get(id);
    if (!of) held.set(id, (of = { open: 0, written: 0, included: 0 }));
    return of;
  };

  return {
    /** Sum that counts against a budget. */
    of(id: string): number {
      const of = held.get(id);
      return of ? of.open + of.written - of.included : 0;
    },

    /** @param ids of the org and the key @param estimate nano-dollars, rounded up */
    add(ids: readonly string[], estimate: number): Reservation {
      const all = ids.map(heldBy);
      let state: 'estimated' | 'charged' | 'ended' = 'estimated';
      let amount = Math.ceil(estimate);
      for (const of of all) of.open += amount;
      return {
        charge(cost) {
          if (state !== 'estimated') return;
          state = 'charged';
          for (const of of all) of.open += cost - amount;
          amount = cost;
        },
        settle() {
          if (state !== 'charged') return;
          state = 'ended';
          for (const of of all) {
            of.open -= amount;
            of.written += amount;
          }
        },
        release() {
          if (state !== 'estimated') return;
          state = 'ended';
          for (const of of all) of.open -= amount;
        },
      };
    },

    /** Begins a read of the ledger. The returned function is called once the read has ended: it includes what was written before. */
    startRead(): () => void {
      const before = [...held].map(([id, of]) => [id, of, of.written] as const);
      return () => {
        for (const [id, of, written] of before) {
          of.included = Math.max(of.included, written);
          if (of.open === 0 && of.included === of.written && held.get(id) === of) held.delete(id);
        }
      };
    },
  };
}
