export const validate = (): readonly string[] => [];
