use greeting::greeting;

fn main() {
    let name = std::env::args().nth(1).unwrap_or_else(|| "{{name}}".to_string());
    println!("{}", greeting(&name));
}
