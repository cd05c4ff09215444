/** True for the phases that a pod never leaves. */
export const isTerminalPhase = (phase: string | undefined): phase is 'Succeeded' | 'Failed' =>
  phase === 'Succeeded' || phase === 'Failed';
