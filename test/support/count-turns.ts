/** Counts the turns of the event loop from now on, until `stop`. */
export function countTurns() {
  let turns = 0;
  let counting = true;
  const count = () => {
    turns++;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  return { turn: () => turns, stop: () => void (counting = false) };
}
