/** Returns the name that a typo most likely meant: at most a third of it differs. Two swapped letters are one difference. */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Math.floor(typed.length / 3) + 1;
  for (const name of names) {
    const far = distance(typed.toLowerCase(), name.toLowerCase());
    if (far < least) [best, least] = [name, far];
  }
  return best;
}

/** Returns the number of letters to add, remove, change or swap with their neighbour. */
function distance(a: string, b: string): number {
  let [before, row]: readonly number[][] = [[], Array.from({ length: b.length + 1 }, (_, i) => i)];
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const ways = [at(row, j) + 1, at(next, j - 1) + 1, at(row, j - 1) + (isSame ? 0 : 1)];
      next.push(Math.min(...ways, isSwapped ? at(before, j - 2) + 1 : Infinity));
    }
    [before, row] = [row, next];
  }
  return at(row, b.length);
}

const at = (row: readonly number[] | undefined, index: number): number => row?.[index] ?? 0;
