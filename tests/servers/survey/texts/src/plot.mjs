// Draws readings as a line of blocks: ▁▂▃▄▅▆▇█
const unused = 'größer';
export const plot = (values) => values.map((it) => '▁▂▃▄▅▆▇█'[Math.round(it * 7)]).join('');
