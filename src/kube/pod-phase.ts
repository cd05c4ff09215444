/** Whether a pod never leaves this phase. */
export const isTerminalPhase = (phase: string | undefined): phase is 'Succeeded' | 'Failed' =>
  phase === 'Succeeded' || phase === 'Failed';
