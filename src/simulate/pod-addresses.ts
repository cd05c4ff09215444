/** The number of pod addresses of all nodes: those of 10.0.0.0/9. */
const all = 0x7fffff;

/**
 * Returns a function that returns the next free address of a node, one a call: those of its share of 10.0.0.0/9, in order.
 *
 * @param inUse returns the addresses of the node's pods; called at the first address: later ones are not given twice
 */
export function podAddresses(index: number, nodes: number, inUse: () => ReadonlySet<string>): () => string {
  const share = Math.max(1, Math.floor(all / Math.max(1, nodes)));
  let next = 0;
  let used: ReadonlySet<string> | undefined;
  return () => {
    used ??= inUse();
    for (let tries = 0; tries < share; tries++) {
      const address = addressOf(1 + index * share + (next++ % share));
      if (!used.has(address)) return address;
    }
    return addressOf(1 + index * share + (next++ % share));
  };
}

const addressOf = (n: number): string => `10.${(n >> 16) & 127}.${(n >> 8) & 255}.${n & 255}`;
