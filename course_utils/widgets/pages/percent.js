/** A share in percent, with a decimal where it is small. */
const percent = (share) => `${share > 0.995 || share < 0.005 ? Math.round(100 * share) : (100 * share).toFixed(share < 0.1 ? 1 : 0)}\u00a0%`;
