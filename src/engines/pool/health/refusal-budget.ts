/** Answers that earn the budget for one refusal, and the largest budget in refusals. */
const answersPerRefusal = 10;
const maxRefusals = 4;

/**
 * Budget of refusals that carry no signal. Busy providers reject about 1 % of requests regardless of load; halving their
 * load for each would end near zero. A server at its limit rejects most of the excess and exhausts the budget.
 */
export class RefusalBudget {
  #answers = 0;

  answered(): void {
    this.#answers = Math.min(this.#answers + 1, maxRefusals * answersPerRefusal);
  }

  /** Spends the budget of one refusal. @returns false where the budget is exhausted */
  spend(): boolean {
    if (this.#answers < answersPerRefusal) return false;
    this.#answers -= answersPerRefusal;
    return true;
  }
}
