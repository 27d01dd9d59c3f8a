/** So many answers make up for a refusal, and for so many refusals at most. */
const answersEach = 10;
const mostRefusals = 4;

/**
 * Refusals that tell nothing of how much a server takes: busy providers refuse one request in a hundred and answer those beside
 * it. Who gave them less for each would end with next to nothing. One that is full refuses most of what is too much.
 */
export class RefusalBudget {
  #answers = 0;

  answered(): void {
    this.#answers = Math.min(this.#answers + 1, mostRefusals * answersEach);
  }

  /** Whether a refusal is one of those. */
  spend(): boolean {
    if (this.#answers < answersEach) return false;
    this.#answers -= answersEach;
    return true;
  }
}
