/** Is the phase one that a pod never leaves? */
export const isTerminalPhase = (phase: string | undefined): phase is 'Succeeded' | 'Failed' =>
  phase === 'Succeeded' || phase === 'Failed';
